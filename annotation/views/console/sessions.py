"""Signing in and out, one's own password, and the users of this server."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import views as auth
from django.contrib.auth.forms import BaseUserCreationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.http import require_http_methods

from annotation.views.console.page import SignedIn, page_of, superuser
from annotation.views.console.sign_in import SignInForm


class Login(auth.LoginView):
    """No password e-mail is ever sent: whoever forgot theirs asks the administrator."""

    template_name = "console/login.html"
    authentication_form = SignInForm
    next_page = "console_studies"
    redirect_authenticated_user = True


class Logout(auth.LogoutView):
    next_page = "console_login"


class Password(auth.PasswordChangeView):
    template_name = "console/password.html"
    success_url = reverse_lazy("console_studies")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        messages.success(self.request, "Your password has been changed.")
        return super().form_valid(form)


class NewUserForm(BaseUserCreationForm):  # type: ignore[type-arg]  # it is generic for the type checker alone
    """Name and password; whether the user may manage users, too."""

    class Meta:
        model = User
        fields = ("username", "is_superuser")
        labels = {"username": "User name", "is_superuser": "Administrator"}
        help_texts = {
            "username": "Letters, digits and @ . + - _ only.",
            "is_superuser": "Sees every study and adds users.",
        }


@superuser
@require_http_methods(["GET", "HEAD", "POST"])
def users(request: SignedIn) -> HttpResponse:
    form = NewUserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = form.save()
        messages.success(request, f"{user.username} can sign in now. Hand them the password yourself.")
        return redirect("console_users")
    found = User.objects.annotate(n_studies=Count("memberships")).order_by("username")
    status = 422 if form.errors else 200
    return render(request, "console/users.html", {"form": form, "users": page_of(found, request)}, status=status)
