"""Every setting of the server, from the environment. Each variable is described in docs/settings.md."""

import os
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

from hitserver.databases import database
from hitserver.env import Env, EnvError

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env(os.environ)

ENVIRONMENT = env.choice("HITSERVER_ENV", "development", ("development", "production"))
PRODUCTION = ENVIRONMENT == "production"
VAR = env.path("HITSERVER_VAR", BASE_DIR / "var")
DEBUG = env.flag("HITSERVER_DEBUG", False)
if PRODUCTION and DEBUG:
    raise EnvError("HITSERVER_DEBUG", "1", "0 in production, where error pages must not show secrets")


def kept_secret(path: Path) -> str:
    """The secret in a file only its owner can read, made on first use: signed links outlive a restart.

    Two processes may be first at once: each links a file of its own into place, and one of them wins.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


for folder in (VAR, VAR / "broker", VAR / "static"):
    folder.mkdir(parents=True, exist_ok=True)

# --- Who may ask, and over what -----------------------------------------------------------------------------

SECRET_KEY = env.secret("HITSERVER_SECRET_KEY", None if PRODUCTION else "", at_least=50)
if not SECRET_KEY:
    SECRET_KEY = kept_secret(VAR / "secret_key")
PORT = env.integer("HITSERVER_PORT", 8000, least=0, most=65535)
BIND = env.text("HITSERVER_BIND", "127.0.0.1")
LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
ALLOWED_HOSTS = env.items("HITSERVER_ALLOWED_HOSTS", () if PRODUCTION else LOCAL_HOSTS)
if PRODUCTION and (not ALLOWED_HOSTS or "*" in ALLOWED_HOSTS):
    raise EnvError(
        "HITSERVER_ALLOWED_HOSTS",
        ",".join(ALLOWED_HOSTS) or None,
        "the host names this server answers to, with commas between them",
    )
BASE_URL = env.url(
    "HITSERVER_BASE_URL",
    f"https://{ALLOWED_HOSTS[0].lstrip('.')}" if PRODUCTION else f"http://127.0.0.1:{PORT}",
    schemes=("https",) if PRODUCTION else ("https", "http"),
).rstrip("/")
# Whether somebody chose it: if not, links begin with the address that a browser asked for.
BASE_URL_IS_SET = PRODUCTION or bool(os.environ.get("HITSERVER_BASE_URL"))
CSRF_TRUSTED_ORIGINS = [BASE_URL]
FRAME_ANCESTORS = env.items("HITSERVER_FRAME_ANCESTORS")

SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if PRODUCTION else 0
X_FRAME_OPTIONS = "DENY"

# --- The application ----------------------------------------------------------------------------------------

PARTS = env.items("HITSERVER_PARTS", ("studies", "marketplace"))
if not PARTS or not {"studies", "marketplace"}.issuperset(PARTS):
    raise EnvError("HITSERVER_PARTS", ",".join(PARTS), "studies, marketplace or both, with a comma between them")
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "generation.apps.GenerationConfig",
    "annotation.apps.AnnotationConfig",
    "analysis",
    "marketplace.apps.MarketplaceConfig",
]
MIDDLEWARE = [
    *(["marketplace.wire.gate.endpoint_first"] if "marketplace" in PARTS else ()),
    "django.middleware.security.SecurityMiddleware",
    "hitserver.middleware.content_security_policy",
    "hitserver.middleware.upload_limit",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "hitserver.middleware.workers_pages_without_cookies",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "hitserver.urls"
WSGI_APPLICATION = "hitserver.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", *sorted(BASE_DIR.glob("annotation/task_types/*/templates"))],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
LOGIN_URL = "console_login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
MAX_UPLOAD_BYTES = env.integer("HITSERVER_MAX_UPLOAD_MB", 64, least=1, most=4096) * 1024 * 1024
# What a worker sends in one page, text and all; files come under the limit above, which the views apply.
DATA_UPLOAD_MAX_MEMORY_SIZE = 3 * 1024 * 1024

# --- Data ---------------------------------------------------------------------------------------------------

DATABASES = {"default": database(env.secret("DATABASE_URL", ""), sqlite_path=VAR / "db.sqlite3")}
PREPARED_STATEMENTS = env.flag("HITSERVER_PREPARED_STATEMENTS", True)
# Counts of failed sign-ins, shared by the processes of one machine.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": VAR / "cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
STATICFILES_DIRS = [BASE_DIR / "static", *sorted(BASE_DIR.glob("annotation/task_types/*/static"))]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# What makes a cell safe where generation, which knows nothing of exports, writes a spreadsheet.
SPREADSHEET_GUARD = "analysis.exports.cells.protect_cell"

# --- Tasks --------------------------------------------------------------------------------------------------

BROKER_SCHEMES = ("filesystem", "redis", "rediss", "amqp", "amqps")
CELERY_BROKER_URL = env.url("CELERY_BROKER_URL", "filesystem://", schemes=BROKER_SCHEMES)
BROKER_IS_FOLDER = CELERY_BROKER_URL.startswith("filesystem:")
CELERY_TASK_TIME_LIMIT = env.integer("HITSERVER_TASK_SECONDS", 1800, least=60, most=7 * 24 * 3600)
CELERY_TASK_SOFT_TIME_LIMIT = CELERY_TASK_TIME_LIMIT - 30
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if BROKER_IS_FOLDER:
    CELERY_BROKER_URL = "filesystem://localhost"  # a name, so that Kombu does not warn that there is none
    CELERY_BROKER_TRANSPORT_OPTIONS = {"folder": str(VAR / "broker"), "polling_interval": 0.2}
elif CELERY_BROKER_URL.startswith("redis"):
    # Redis hands a task to a second worker after this time, so it has to be longer than a task can take.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": CELERY_TASK_TIME_LIMIT + 600}
# With Redis at hand, counts (failed sign-ins, the marketplace's limits) are shared by all machines.
if CELERY_BROKER_URL.startswith("redis"):
    CACHES["default"] = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": CELERY_BROKER_URL}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
# Whatever loads a language model; `generation.tasks.wake` only looks into the database.
CELERY_TASK_ROUTES = {f"generation.tasks.{name}": {"queue": "gpu"} for name in ("work", "check")}
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5.0
# `celery inspect` writes to every worker; in a folder, each that ever was would keep a letter box.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = not BROKER_IS_FOLDER
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# How long a chunk of a generation run is a worker's that is not heard of, and how often idle workers are woken.
CHUNK_LEASE_SECONDS = env.integer("HITSERVER_CHUNK_LEASE_SECONDS", 60, least=2, most=3600)
WAKE_SECONDS = env.integer("HITSERVER_WAKE_SECONDS", 15, least=1, most=3600)
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "beat-schedule")
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {}
if "studies" in PARTS:
    CELERY_BEAT_SCHEDULE["reclaim-expired"] = {
        "task": "annotation.tasks.reclaim_expired",
        "schedule": timedelta(seconds=30),
        "options": {"expires": 30},
    }
    CELERY_BEAT_SCHEDULE["wake-generation"] = {
        "task": "generation.tasks.wake",
        "schedule": timedelta(seconds=WAKE_SECONDS),
        "options": {"expires": WAKE_SECONDS},
    }
if "marketplace" in PARTS:
    CELERY_IMPORTS = ["marketplace.wire.notifications"]
    for name in ("marketplace.tasks.upkeep", "marketplace.wire.notifications.deliver_due"):
        CELERY_BEAT_SCHEDULE[name] = {"task": name, "schedule": timedelta(seconds=30), "options": {"expires": 30}}
    CELERY_BEAT_SCHEDULE["marketplace.tasks.remove_files"] = {
        "task": "marketplace.tasks.remove_files",
        "schedule": timedelta(minutes=10),
        "options": {"expires": 600},
    }

# --- The marketplace ----------------------------------------------------------------------------------------

MARKETPLACE_TEST_CONTROLS = env.flag("HITSERVER_MARKETPLACE_TEST_CONTROLS", False)
if PRODUCTION and MARKETPLACE_TEST_CONTROLS:
    raise EnvError("HITSERVER_MARKETPLACE_TEST_CONTROLS", "1", "0 in production, where clocks and faults are real")
MARKETPLACE_REGION = env.text("HITSERVER_MARKETPLACE_REGION", "us-east-1")
MARKETPLACE_FEE_PERCENT = env.integer("HITSERVER_MARKETPLACE_FEE_PERCENT", 20, least=0, most=100)
MARKETPLACE_FEE_PERCENT_MANY = env.integer("HITSERVER_MARKETPLACE_FEE_PERCENT_MANY", 40, least=0, most=100)
MARKETPLACE_FEE_PERCENT_MASTERS = env.integer("HITSERVER_MARKETPLACE_FEE_PERCENT_MASTERS", 5, least=0, most=100)
# Requests a second that one requester may go on with, and how many may come at once; 0 is no limit.
MARKETPLACE_RATE_LIMIT = env.integer("HITSERVER_MARKETPLACE_RATE_LIMIT", 50, least=0, most=100_000)
MARKETPLACE_RATE_BURST = env.integer("HITSERVER_MARKETPLACE_RATE_BURST", 200, least=1, most=1_000_000)
# Files that workers upload, outside of whatever a web server shows.
MARKETPLACE_FILES = env.path("HITSERVER_MARKETPLACE_FILES", VAR / "marketplace-files")
MARKETPLACE_MAX_FILE_BYTES = env.integer("HITSERVER_MARKETPLACE_MAX_FILE_MB", 25, least=1, most=2000) * 1024 * 1024
MARKETPLACE_SQS_URL = env.url("HITSERVER_MARKETPLACE_SQS_URL", "", schemes=("https", "http"))
MARKETPLACE_SQS_REGION = env.text("HITSERVER_MARKETPLACE_SQS_REGION", "us-east-1")
MARKETPLACE_SQS_ACCESS_KEY_ID = env.text("HITSERVER_MARKETPLACE_SQS_ACCESS_KEY_ID", "")
MARKETPLACE_SQS_SECRET_ACCESS_KEY = env.secret("HITSERVER_MARKETPLACE_SQS_SECRET_ACCESS_KEY", "")
MARKETPLACE_CALLBACK_URL = env.url("HITSERVER_MARKETPLACE_CALLBACK_URL", "", schemes=("https", "http"))

# --- E-mail: into the log, until a server is named ----------------------------------------------------------

EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
EMAIL_HOST = env.text("HITSERVER_EMAIL_HOST", "")
EMAIL_PORT = env.integer("HITSERVER_EMAIL_PORT", 587, least=1, most=65535)
EMAIL_HOST_USER = env.text("HITSERVER_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env.secret("HITSERVER_EMAIL_PASSWORD", "")
EMAIL_USE_TLS = env.flag("HITSERVER_EMAIL_TLS", True)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.text("HITSERVER_EMAIL_FROM", "hitserver@localhost")
if EMAIL_HOST:
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"

# --- Processes, read by hitserver.supervisor ----------------------------------------------------------------

WEB_WORKERS = env.integer("HITSERVER_WEB_WORKERS", 2, least=1, most=256)
WEB_THREADS = env.integer("HITSERVER_WEB_THREADS", 4, least=1, most=256)
PROXY_IPS = env.items("HITSERVER_PROXY_IPS", ("127.0.0.1", "::1"))
WORKER_QUEUES = env.items("HITSERVER_WORKER_QUEUES", ("default", "gpu"))
MODELS_HELD = env.integer("HITSERVER_MODELS_HELD", 2, least=1, most=64)
SUGGESTER_PROCESSES = env.integer("HITSERVER_SUGGESTER_PROCESSES", 1, least=0, most=64)
SUGGESTER_ROWS = env.integer("HITSERVER_SUGGESTER_ROWS", 64, least=1, most=4096)
WORKER_PROCESSES = env.integer("HITSERVER_WORKER_PROCESSES", 1, least=1, most=256)

# --- What is said about it ----------------------------------------------------------------------------------

LOG_LEVEL = env.choice("HITSERVER_LOG_LEVEL", "info", ("debug", "info", "warning", "error"))
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "hitserver.logs.OneLineFormatter" if PRODUCTION else "hitserver.logs.PrivateFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s [%(process)d] %(message)s",
        },
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL.upper()},
    "loggers": {
        # Django gives this one a handler of its own; what it says goes the way of everything else.
        "django": {"handlers": [], "propagate": True},
        # Every query at "debug" would drown the rest and write down what people answered.
        "django.db.backends": {"level": "INFO"},
        "django.template": {"level": "INFO"},
        # It warns of every HEAD request, whose body it leaves out as it should.
        "gunicorn.http.wsgi": {"level": "ERROR"},
        "gunicorn.error": {"level": LOG_LEVEL.upper(), "handlers": [], "propagate": True},
    },
}

# Variables for the tests, which nothing here reads.
TEST_VARIABLES = ("HITSERVER_TEST_", "HITSERVER_REQUIRE_", "HITSERVER_CHROMIUM")
UNKNOWN_VARIABLES = env.unknown("HITSERVER_", known_prefixes=TEST_VARIABLES)
