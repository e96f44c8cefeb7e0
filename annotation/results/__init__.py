"""From rows to results: StudyData, bundles, exports and reports."""
