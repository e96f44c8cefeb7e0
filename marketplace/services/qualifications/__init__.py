"""Qualifications and what HITs require."""
