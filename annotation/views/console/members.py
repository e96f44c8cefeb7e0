"""Who may see and change a study."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Membership, Study
from annotation.services import studies as service
from annotation.views.console.forms import MemberForm
from annotation.views.console.page import SignedIn, member, study_page


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="viewer", write="owner")
def members(request: SignedIn, study: Study) -> HttpResponse:
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and form.found:
        role = form.cleaned_data["role"]
        service.add_member(study=study, user=form.found, role=role, actor=request.user.get_username())
        messages.success(request, f"{form.found.username} is now {role} of this study.")
        return redirect("console_members", study.slug)
    memberships = Membership.objects.filter(study=study).select_related("user").order_by("user__username")
    context = {"form": form, "memberships": memberships}
    return study_page(
        request, study, "members.html", context, section="members", status=422 if form.errors else 200
    )


@require_POST
@member(write="owner")
def remove(request: SignedIn, study: Study, user_id: int) -> HttpResponse:
    user = get_object_or_404(User, pk=user_id, memberships__study=study)
    others = Membership.objects.filter(study=study, role=Membership.Role.OWNER).exclude(user=user)
    if not others.exists():
        messages.error(request, "A study needs an owner. Make somebody else an owner first, then remove this one.")
        return redirect("console_members", study.slug)
    service.remove_member(study=study, user=user, actor=request.user.get_username())
    messages.success(request, f"{user.username} does not see this study any more.")
    return redirect("console_studies" if user == request.user else "console_members", *_slug(user, request, study))


def _slug(user: User, request: SignedIn, study: Study) -> tuple[str, ...]:
    return () if user == request.user and not request.user.is_superuser else (study.slug,)
