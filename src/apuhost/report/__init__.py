"""What people and programs read: plans and verdicts in every form. Pure: records in, text out."""

from apuhost.report.command import fix as fix
from apuhost.report.document import SCHEMA as SCHEMA
from apuhost.report.document import as_json as as_json
from apuhost.report.junit import junit as junit
from apuhost.report.metrics import metrics as metrics
from apuhost.report.outcome import exit_status as exit_status
from apuhost.report.overview import verify_lines as verify_lines
from apuhost.report.plan import diff as diff
from apuhost.report.plan import plan_lines as plan_lines
from apuhost.report.table import verdict_lines as verdict_lines
from apuhost.report.text import INDENT as INDENT
from apuhost.report.text import WIDTH as WIDTH
from apuhost.report.text import visible as visible
from apuhost.report.text import visible_json as visible_json
from apuhost.report.text import wrapped as wrapped
