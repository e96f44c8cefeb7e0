"""Every setting of the server, from the environment. Each variable is described in docs/settings.md."""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from hitserver.databases import database
from hitserver.env import Env, EnvError
from hitserver.log_config import logging_config
from hitserver.private import private_folder, secret_in_file, weakness
from hitserver.processes import noted_port
from hitserver.schedule import beat_schedule, task_modules
from hitserver.sign_in_settings import provider

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env(os.environ)

ENVIRONMENT = env.choice("HITSERVER_ENV", "development", ("development", "production"))
PRODUCTION = ENVIRONMENT == "production"
VAR = env.path("HITSERVER_VAR", BASE_DIR / "var")
DEBUG = env.flag("HITSERVER_DEBUG", False)
if PRODUCTION and DEBUG:
    raise EnvError("HITSERVER_DEBUG", "1", "0 in production, where error pages must not show secrets")
if not env.flag("HITSERVER_ALLOW_ROOT", False) and PRODUCTION and os.geteuid() == 0:
    raise ImproperlyConfigured(
        "HITServer does not run as root in production: a fault would reach the whole machine, and the server could not "
        "open the files that root makes. Run it as its own user (after script/install: sudo hitserver COMMAND). "
        "HITSERVER_ALLOW_ROOT=1 runs it anyway."
    )

# The warning at the start of a server whose folder others can open.
OPEN_FOLDER = private_folder(VAR)
for folder in (VAR, VAR / "broker", VAR / "static"):
    folder.mkdir(parents=True, exist_ok=True)

# --- Hosts, proxies and security ----------------------------------------------------------------------------

SECRET_KEY = env.secret("HITSERVER_SECRET_KEY", None if PRODUCTION else "", at_least=50)
SECRET_KEY_IS_SET = bool(SECRET_KEY)
if PRODUCTION and (weak := weakness(SECRET_KEY)):
    raise ImproperlyConfigured(
        f"HITSERVER_SECRET_KEY can be guessed: {weak}. Make one: "
        'python3 -c "import secrets; print(secrets.token_urlsafe(64))"'
    )
if not SECRET_KEY:
    SECRET_KEY = secret_in_file(VAR / "secret_key")
# Earlier secret keys: what they signed or sealed is still read, and nothing new is signed or sealed with them.
SECRET_KEY_FALLBACKS = env.secrets("HITSERVER_SECRET_KEY_FALLBACKS", at_least=50)
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
# Whether somebody set it. If not, links begin with the address that the browser requested.
BASE_URL_IS_SET = PRODUCTION or bool(os.environ.get("HITSERVER_BASE_URL"))
if not BASE_URL_IS_SET and not os.environ.get("HITSERVER_PORT"):
    # Commands in another terminal use the port of the server that is running with the same folder.
    BASE_URL = f"http://127.0.0.1:{noted_port(VAR) or PORT}"
CSRF_TRUSTED_ORIGINS = [BASE_URL]
FRAME_ANCESTORS: list[str] = list(env.items("HITSERVER_FRAME_ANCESTORS"))

SESSION_ENGINE = "accounts.session_store"
SESSION_COOKIE_AGE = env.integer("HITSERVER_SESSION_IDLE_MINUTES", 720, least=5, most=30 * 24 * 60) * 60
# However often a session is used, its user has to sign in again after this time.
SESSION_LIFETIME = timedelta(days=env.integer("HITSERVER_SESSION_MAX_DAYS", 7, least=1, most=365))
# Who must show a second factor, and after how many minutes a sign-in is too old for what spends money; 0: never.
POLICIES = ("off", "optional", "required", "required-for-admins")
SECOND_FACTOR = env.choice("HITSERVER_SECOND_FACTOR", "optional", POLICIES)
ASK_AGAIN_MINUTES = env.integer("HITSERVER_ASK_AGAIN_MINUTES", 60, least=0, most=30 * 24 * 60)
# Where researchers sign in with their university's account, and whether the console accepts nothing else.
OIDC = provider(env, production=PRODUCTION)
OIDC_ONLY = env.flag("HITSERVER_OIDC_ONLY", False)
INVITATION_DAYS = env.integer("HITSERVER_INVITATION_DAYS", 7, least=1, most=90)
SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz(/live)?$", r"^metrics$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if PRODUCTION else 0
X_FRAME_OPTIONS = "DENY"
DEFAULT_EXCEPTION_REPORTER_FILTER = "hitserver.error_pages.AlwaysDiscreet"

# --- The application ----------------------------------------------------------------------------------------

PARTS = env.items("HITSERVER_PARTS", ("studies", "marketplace"))
if "marketplace" in PARTS and "studies" in PARTS:  # the marketplace shows the studies' pages in a frame
    FRAME_ANCESTORS.append("'self'")
if not PARTS or not {"studies", "marketplace"}.issuperset(PARTS):
    raise EnvError("HITSERVER_PARTS", ",".join(PARTS), "studies, marketplace or both, with a comma between them")
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "accounts.apps.AccountsConfig",
    "generation.apps.GenerationConfig",
    "annotation.apps.AnnotationConfig",
    "marketplace.apps.MarketplaceConfig",
    "hitserver.apps.HitserverConfig",
]
MIDDLEWARE = [
    "hitserver.watch.middleware.watch_requests",
    *(["marketplace.endpoint.endpoint_first"] if "marketplace" in PARTS else ()),
    "django.middleware.security.SecurityMiddleware",
    "hitserver.middleware.content_security_policy",
    "hitserver.middleware.upload_limit",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "hitserver.middleware.workers_pages_without_cookies",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.keep_session_alive",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "hitserver.urls"
WSGI_APPLICATION = "hitserver.wsgi.application"
TEMPLATE_LOADERS = [f"django.template.loaders.{name}.Loader" for name in ("filesystem", "app_directories")]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [
            BASE_DIR / "templates",
            *sorted(BASE_DIR.glob("annotation/*/pages/templates")),
            *sorted(BASE_DIR.glob("annotation/task_types/**/templates")),
        ],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["common.worded"],
            "loaders": [("common.language_templates.Loader", TEMPLATE_LOADERS)],
        },
    },
]
LANGUAGE_CODE = "en"
# Workers' pages alone have other languages (common.languages). To look up the language for every number took 5%
# of a worker's page, and for every text 25%.
USE_I18N = False
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
LOGIN_URL = "console_login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
MAX_UPLOAD_BYTES = env.integer("HITSERVER_MAX_UPLOAD_MB", 64, least=1, most=4096) * 1024 * 1024
# Everything that a worker sends in one page, including text. For files, the views apply the limit above.
DATA_UPLOAD_MAX_MEMORY_SIZE = 3 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1500

# Images and recordings that items show, in a folder that no web server shows; limits for one file, and for a study.
MEDIA_FILES = env.path("HITSERVER_MEDIA_FILES", VAR / "media")
MEDIA_MAX_BYTES = env.integer("HITSERVER_MEDIA_MAX_MB", 10, least=1, most=100) * 1024 * 1024
MEDIA_MAX_PIXELS = env.integer("HITSERVER_MEDIA_MAX_MEGAPIXELS", 25, least=1, most=100) * 1_000_000
RECORDING_MAX_BYTES = env.integer("HITSERVER_RECORDING_MAX_MB", 50, least=1, most=2000) * 1024 * 1024
STUDY_MEDIA_MAX_BYTES = env.integer("HITSERVER_STUDY_MEDIA_MAX_MB", 2000, least=1, most=1_000_000) * 1024 * 1024
CONCRETENESS = env.text("HITSERVER_CONCRETENESS", "")
# How many people at one address can have an open study started but nothing sent; 0 means no limit.
UNSENT_PER_ADDRESS = env.integer("HITSERVER_UNSENT_PER_ADDRESS", 50, least=0, most=1_000_000)
# The same for requests to the API per minute: of one user, and of one address without a valid token.
API_REQUESTS_PER_MINUTE = env.integer("HITSERVER_API_REQUESTS_PER_MINUTE", 600, least=0, most=1_000_000)
API_VISITORS_PER_MINUTE = env.integer("HITSERVER_API_VISITORS_PER_MINUTE", 60, least=0, most=1_000_000)

# --- Data ---------------------------------------------------------------------------------------------------

DATABASES = {"default": database(env.secret("DATABASE_URL", ""), sqlite_path=VAR / "db.sqlite3")}
# How many copies to keep of an SQLite database, each made before its tables change; 0 makes none.
MIGRATION_COPIES = env.integer("HITSERVER_MIGRATION_COPIES", 3, least=0, most=1000)
# Days after which `manage.py retention --delete` deletes data; 0 keeps it forever.
KEEP_DRAFTS_DAYS = env.integer("HITSERVER_KEEP_DRAFTS_DAYS", 90, least=0, most=36_500)
KEEP_LOG_DAYS = env.integer("HITSERVER_KEEP_LOG_DAYS", 0, least=0, most=36_500)
KEEP_NOTIFICATIONS_DAYS = env.integer("HITSERVER_KEEP_NOTIFICATIONS_DAYS", 30, least=0, most=36_500)
KEEP_EDITS_DAYS = env.integer("HITSERVER_KEEP_EDITS_DAYS", 0, least=0, most=36_500)
KEEP_MEDIA_DAYS = env.integer("HITSERVER_KEEP_MEDIA_DAYS", 30, least=0, most=36_500)
KEEP_LINKS_DAYS = env.integer("HITSERVER_KEEP_LINKS_DAYS", 30, least=0, most=36_500)
KEEP_API_ANSWERS_DAYS = env.integer("HITSERVER_KEEP_API_ANSWERS_DAYS", 1, least=1, most=365)
KEEP_API_JOBS_DAYS = env.integer("HITSERVER_KEEP_API_JOBS_DAYS", 7, least=1, most=36_500)
PREPARED_STATEMENTS = env.flag("HITSERVER_PREPARED_STATEMENTS", True)
# Counts of failed sign-ins, which all processes of one machine share.
CACHES = {
    "default": {
        "BACKEND": "hitserver.cache.FileCache",
        "LOCATION": VAR / "cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
STATICFILES_DIRS = [BASE_DIR / "static", *sorted(BASE_DIR.glob("annotation/task_types/**/static"))]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "hitserver.static_files.StaticFiles"},
}


# --- Tasks --------------------------------------------------------------------------------------------------

BROKER_SCHEMES = ("filesystem", "redis", "rediss", "amqp", "amqps")
CELERY_BROKER_URL = env.url("CELERY_BROKER_URL", "filesystem://", schemes=BROKER_SCHEMES)
BROKER_IS_FOLDER = CELERY_BROKER_URL.startswith("filesystem:")
CELERY_TASK_TIME_LIMIT = env.integer("HITSERVER_TASK_SECONDS", 1800, least=60, most=7 * 24 * 3600)
CELERY_TASK_SOFT_TIME_LIMIT = CELERY_TASK_TIME_LIMIT - 30
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
REDIS_PATIENCE = {"socket_connect_timeout": 1.0, "socket_timeout": 2.0}
if BROKER_IS_FOLDER:
    CELERY_BROKER_URL = "filesystem://localhost"  # a name, so that Kombu does not warn that there is none
    CELERY_BROKER_TRANSPORT_OPTIONS = {"folder": str(VAR / "broker"), "polling_interval": 0.2}
elif CELERY_BROKER_URL.startswith("redis"):
    # Redis gives a task to a second worker after this time, so it must be longer than any task can take.
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": CELERY_TASK_TIME_LIMIT + 600,
        **REDIS_PATIENCE,
    }
# A request that sends a task does not wait for a broker that is away: the database shows what is left to do.
CELERY_BROKER_CONNECTION_TIMEOUT = 2.0
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
# With Redis, all machines share the counts (failed sign-ins, the marketplace's limits).
if CELERY_BROKER_URL.startswith("redis"):
    CACHES["default"] = {
        "BACKEND": "hitserver.cache.RedisCache",
        "LOCATION": CELERY_BROKER_URL,
    }
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
# Tasks that load a language model. `generation.tasks.wake` only reads the database.
CELERY_TASK_ROUTES = {
    name: {"queue": "gpu"} for name in ("generation.tasks.work", "generation.tasks.check", "annotation.tasks.judge")
}
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5.0
# `celery inspect` writes to every worker. With a folder, every worker that ever ran would keep a mailbox.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = not BROKER_IS_FOLDER
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# How long a silent worker keeps its chunk of a generation run, and how often idle workers are woken.
CHUNK_LEASE_SECONDS = env.integer("HITSERVER_CHUNK_LEASE_SECONDS", 60, least=2, most=3600)
WAKE_SECONDS = env.integer("HITSERVER_WAKE_SECONDS", 15, least=1, most=3600)
# Whether webhooks may lead to http addresses and into the server's own network.
WEBHOOKS_PRIVATE = env.flag("HITSERVER_WEBHOOKS_PRIVATE", False)
# How often studies that are offered on a platform are synced.
PLATFORM_SYNC_SECONDS = env.integer("HITSERVER_PLATFORM_SYNC_SECONDS", 300, least=10, most=86_400)
CELERY_BEAT_SCHEDULER = "hitserver.watch.scheduler:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "beat-schedule")
CELERY_BEAT_SCHEDULE = beat_schedule(PARTS, sync_seconds=PLATFORM_SYNC_SECONDS, wake_seconds=WAKE_SECONDS)
# Tasks outside an app's own module `tasks`.
CELERY_IMPORTS = task_modules(PARTS)

# --- Pay --------------------------------------------------------------------------------------------------------

# USD per hour below which people are warned; 0 never warns. The default is the federal minimum wage of the USA.
MINIMUM_HOURLY_PAY = env.decimal("HITSERVER_MINIMUM_HOURLY_PAY", "7.25", least="0", most="1000")
# Whether studies that pay less than that cannot be launched.
REFUSE_LOW_PAY = env.flag("HITSERVER_REFUSE_LOW_PAY", False)
# USD, fees included, that all studies on one account of a platform may cost in a calendar month (UTC); 0: no limit.
MONTHLY_BUDGET = env.decimal("HITSERVER_MONTHLY_BUDGET", "1000", least="0", most="10000000")
# USD above which a command that spends money on a platform asks first.
CONFIRM_ABOVE = env.decimal("HITSERVER_CONFIRM_ABOVE", "50", least="0", most="10000000")

# --- The marketplace ----------------------------------------------------------------------------------------

MARKETPLACE_TEST_CONTROLS = env.flag("HITSERVER_MARKETPLACE_TEST_CONTROLS", False)
if PRODUCTION and MARKETPLACE_TEST_CONTROLS:
    raise EnvError("HITSERVER_MARKETPLACE_TEST_CONTROLS", "1", "0 in production, where clocks and faults are real")
MARKETPLACE_REGION = env.text("HITSERVER_MARKETPLACE_REGION", "us-east-1")
MARKETPLACE_FEE_PERCENT = env.integer("HITSERVER_MARKETPLACE_FEE_PERCENT", 20, least=0, most=100)
MARKETPLACE_FEE_PERCENT_MANY = env.integer("HITSERVER_MARKETPLACE_FEE_PERCENT_MANY", 40, least=0, most=100)
MARKETPLACE_FEE_PERCENT_MASTERS = env.integer("HITSERVER_MARKETPLACE_FEE_PERCENT_MASTERS", 5, least=0, most=100)
# How many requests per second one requester can keep making, and how many at once; 0 means no limit.
MARKETPLACE_RATE_LIMIT = env.integer("HITSERVER_MARKETPLACE_RATE_LIMIT", 50, least=0, most=100_000)
MARKETPLACE_RATE_BURST = env.integer("HITSERVER_MARKETPLACE_RATE_BURST", 200, least=1, most=1_000_000)
# Files that workers upload, in a folder that no web server shows.
MARKETPLACE_FILES = env.path("HITSERVER_MARKETPLACE_FILES", VAR / "marketplace-files")
MARKETPLACE_MAX_FILE_BYTES = env.integer("HITSERVER_MARKETPLACE_MAX_FILE_MB", 25, least=1, most=2000) * 1024 * 1024
MARKETPLACE_SQS_URL = env.url("HITSERVER_MARKETPLACE_SQS_URL", "", schemes=("https", "http"))
MARKETPLACE_SQS_REGION = env.text("HITSERVER_MARKETPLACE_SQS_REGION", "us-east-1")
MARKETPLACE_SQS_ACCESS_KEY_ID = env.text("HITSERVER_MARKETPLACE_SQS_ACCESS_KEY_ID", "")
MARKETPLACE_SQS_SECRET_ACCESS_KEY = env.secret("HITSERVER_MARKETPLACE_SQS_SECRET_ACCESS_KEY", "")
MARKETPLACE_SNS_URL = env.url("HITSERVER_MARKETPLACE_SNS_URL", "", schemes=("https", "http"))
MARKETPLACE_SNS_REGION = env.text("HITSERVER_MARKETPLACE_SNS_REGION", "us-east-1")
MARKETPLACE_SNS_ACCESS_KEY_ID = env.text("HITSERVER_MARKETPLACE_SNS_ACCESS_KEY_ID", "")
MARKETPLACE_SNS_SECRET_ACCESS_KEY = env.secret("HITSERVER_MARKETPLACE_SNS_SECRET_ACCESS_KEY", "")
_ACCOUNTS = "HITSERVER_MARKETPLACE_SQS_ACCOUNTS"
MARKETPLACE_SQS_ACCOUNTS = env.items(_ACCOUNTS)
if not all(len(number) == 12 and number.isascii() and number.isdigit() for number in MARKETPLACE_SQS_ACCOUNTS):
    raise EnvError(_ACCOUNTS, ",".join(MARKETPLACE_SQS_ACCOUNTS), "AWS account numbers of 12 digits")
if PRODUCTION and MARKETPLACE_SQS_URL and not MARKETPLACE_SQS_ACCOUNTS:
    accepts = "the numbers of AWS accounts whose queues may be notified: the server signs for whatever queue is named"
    raise EnvError(_ACCOUNTS, None, accepts)
MARKETPLACE_CALLBACK_URL = env.url("HITSERVER_MARKETPLACE_CALLBACK_URL", "", schemes=("https", "http"))

# --- Publishing through the MTurk API: on this server's own marketplace, unless another endpoint is set --------

MTURK_ENDPOINT = env.url("HITSERVER_MTURK_ENDPOINT", f"{BASE_URL}/marketplace/api/", schemes=("https", "http"))
MTURK_REGION = env.text("HITSERVER_MTURK_REGION", "us-east-1")
MTURK_ACCESS_KEY_ID = env.text("HITSERVER_MTURK_ACCESS_KEY_ID", "")
MTURK_SECRET_ACCESS_KEY = env.secret("HITSERVER_MTURK_SECRET_ACCESS_KEY", "")
# Whether every researcher can publish with these keys, or only administrators.
SERVER_ACCOUNT_FOR_ALL = env.flag("HITSERVER_SERVER_ACCOUNT_FOR_ALL", True)
# Other endpoints for which users can enter keys of their own.
MTURK_ENDPOINTS = env.urls(
    "HITSERVER_MTURK_ENDPOINTS",
    tuple(f"https://mturk-requester{sandbox}.us-east-1.amazonaws.com" for sandbox in ("", "-sandbox")),
    schemes=("https", "http"),
)
# Other sites to which a worker's page can report that the work is done.
MTURK_SUBMIT_SITES = env.items(
    "HITSERVER_MTURK_SUBMIT_SITES", ("https://www.mturk.com", "https://workersandbox.mturk.com")
)
# A marketplace on another server shows workers' pages in a frame, and accepts finished work, on the host of its
# endpoint. Amazon uses other hosts for both.
for _endpoint in map(urlsplit, dict.fromkeys((MTURK_ENDPOINT, *MTURK_ENDPOINTS))):
    _market = f"{_endpoint.scheme}://{_endpoint.netloc}"
    if _market != BASE_URL and not (_endpoint.hostname or "").endswith(".amazonaws.com"):
        FRAME_ANCESTORS.append(_market)
        MTURK_SUBMIT_SITES.append(_market)
MTURK_ATTEMPTS = env.integer("HITSERVER_MTURK_ATTEMPTS", 8, least=1, most=50)
# Calls per second to the endpoint, for all processes of this machine together; 0 means no limit.
MTURK_CALLS_PER_SECOND = env.integer("HITSERVER_MTURK_CALLS_PER_SECOND", 10, least=0, most=10_000)
# The SQS queue with the endpoint's notifications, and how long to wait there for a message.
MTURK_QUEUE_URL = env.url("HITSERVER_MTURK_QUEUE_URL", "", schemes=("https", "http"))
MTURK_QUEUE_REGION = env.text("HITSERVER_MTURK_QUEUE_REGION", "us-east-1")
MTURK_QUEUE_WAIT_SECONDS = env.integer("HITSERVER_MTURK_QUEUE_WAIT_SECONDS", 5, least=0, most=20)

# --- Publishing on Prolific -------------------------------------------------------------------------------------

PROLIFIC_API = env.url("HITSERVER_PROLIFIC_API", "https://api.prolific.com/api/v1/", schemes=("https", "http"))
PROLIFIC_TOKEN = env.secret("HITSERVER_PROLIFIC_TOKEN", "")
# Where participants return with their completion code.
PROLIFIC_SITE = env.url("HITSERVER_PROLIFIC_SITE", "https://app.prolific.com", schemes=("https", "http"))
PROLIFIC_ATTEMPTS = env.integer("HITSERVER_PROLIFIC_ATTEMPTS", 5, least=1, most=20)
PROLIFIC_FEE_PERCENT = env.decimal("HITSERVER_PROLIFIC_FEE_PERCENT", "33.3", least="0", most="100")
# The secret of the workspace's webhooks. With it, Prolific tells this server about every change.
PROLIFIC_HOOK_SECRET = env.secret("HITSERVER_PROLIFIC_HOOK_SECRET", "")
# The tax on the fee, such as 20 in the United Kingdom.
PROLIFIC_VAT_PERCENT = env.decimal("HITSERVER_PROLIFIC_VAT_PERCENT", "0", least="0", most="100")

# --- E-mail: into the log of a development server, unless a mail server is set ------------------------------

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
elif PRODUCTION:  # a link that signs somebody in has no place in a log
    EMAIL_BACKEND = "hitserver.mail.NoMail"
SENDS_MAIL = bool(EMAIL_HOST) or not PRODUCTION

# --- Processes, read by hitserver.supervisor ----------------------------------------------------------------

WEB_WORKERS = env.integer("HITSERVER_WEB_WORKERS", 2, least=1, most=256)
WEB_THREADS = env.integer("HITSERVER_WEB_THREADS", 4, least=1, most=256)
# A request must arrive within this many seconds, or a little longer if it is large; see hitserver.web_worker.
REQUEST_SECONDS = env.integer("HITSERVER_REQUEST_SECONDS", 30, least=1, most=3600)
WEB_MEMORY_BYTES = env.integer("HITSERVER_WEB_MEMORY_MB", 4096, least=0, most=1_000_000) * 1024 * 1024
if 0 < WEB_MEMORY_BYTES < 512 * 1024 * 1024:
    raise EnvError("HITSERVER_WEB_MEMORY_MB", str(WEB_MEMORY_BYTES // 1024**2), "0 for no limit, or at least 512")
PROXY_IPS = env.items("HITSERVER_PROXY_IPS", ("127.0.0.1", "::1"))
WORKER_QUEUES = env.items("HITSERVER_WORKER_QUEUES", ("default", "gpu"))
# Hosts that the backend `openai` may send prompts and keys to.
MODEL_SERVERS = env.items("HITSERVER_MODEL_SERVERS", LOCAL_HOSTS)
MODELS_HELD = env.integer("HITSERVER_MODELS_HELD", 2, least=1, most=64)
# Python functions that a run may rerank with, as name=dotted.path: a run's file has only their names.
SCORERS = env.functions("HITSERVER_SCORERS")
SUGGESTER_PROCESSES = env.integer("HITSERVER_SUGGESTER_PROCESSES", 1, least=0, most=64)
SUGGESTER_ROWS = env.integer("HITSERVER_SUGGESTER_ROWS", 64, least=1, most=4096)
WORKER_PROCESSES = env.integer("HITSERVER_WORKER_PROCESSES", 1, least=1, most=256)

# --- The API ------------------------------------------------------------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_SCHEMA_CLASS": "annotation.api.schema.Schema",
    "URL_FORMAT_OVERRIDE": None,  # some addresses have a parameter of this name
}

# --- Logging ------------------------------------------------------------------------------------------------

LOG_LEVEL = env.choice("HITSERVER_LOG_LEVEL", "info", ("debug", "info", "warning", "error"))
LOG_FORMAT = env.choice("HITSERVER_LOG_FORMAT", "text", ("text", "json"))
LOGGING = logging_config(LOG_LEVEL, private=not PRODUCTION, form=LOG_FORMAT)

# --- Watching -----------------------------------------------------------------------------------------------

# Who can read /metrics: whoever has the token, and these addresses and networks. Without both, nobody.
METRICS_TOKEN = env.secret("HITSERVER_METRICS_TOKEN", "", at_least=20)
METRICS_ADDRESSES = env.networks("HITSERVER_METRICS_ADDRESSES")
METRICS_OPEN = bool(METRICS_TOKEN or METRICS_ADDRESSES)
# Who gets mail when something needs a person, and from when on it does; 0 switches a limit off.
ALARM_MAIL = env.items("HITSERVER_ALARM_MAIL")
if not all(re.fullmatch(r"[^@\s]+@[^@\s]+", address) for address in ALARM_MAIL):
    raise EnvError("HITSERVER_ALARM_MAIL", ",".join(ALARM_MAIL), "e-mail addresses with commas between them")
ALARM_BACKUP_DAYS = env.integer("HITSERVER_ALARM_BACKUP_DAYS", 2, least=0, most=3650)
ALARM_DISK_MB = env.integer("HITSERVER_ALARM_DISK_MB", 2000, least=0, most=100_000_000)
ALARM_QUEUE_MINUTES = env.integer("HITSERVER_ALARM_QUEUE_MINUTES", 30, least=0, most=100_000)
ALARM_BUDGET_PERCENT = env.integer("HITSERVER_ALARM_BUDGET_PERCENT", 90, least=0, most=100)
# How often the newest backup is tried by restoring it; 0 never.
RESTORE_TEST_DAYS = env.integer("HITSERVER_RESTORE_TEST_DAYS", 7, least=0, most=365)
# Where errors and spans go, if the packages of requirements-watch.txt are installed.
SENTRY_DSN = env.secret("HITSERVER_SENTRY_DSN", "")
OTLP_ENDPOINT = env.url("OTEL_EXPORTER_OTLP_ENDPOINT", "", schemes=("https", "http"))

# Variables for the tests. Nothing here reads them.
TEST_VARIABLES = ("HITSERVER_TEST_", "HITSERVER_REQUIRE_", "HITSERVER_CHROMIUM")
# Keys of model servers. The processes that use a model read them, and no other variable can be named as a key.
MODEL_KEY_PREFIX = "HITSERVER_MODEL_KEY_"
UNKNOWN_VARIABLES = env.unknown("HITSERVER_", known_prefixes=(*TEST_VARIABLES, MODEL_KEY_PREFIX))
