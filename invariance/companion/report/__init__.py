"""The report: what four papers state and what was measured, as pages that open from disk."""

from invariance.companion.report.build import build_report
from invariance.companion.report.collect import ReportError
from invariance.companion.report.formulas import FormulaError, to_mathml

__all__ = ["FormulaError", "ReportError", "build_report", "to_mathml"]
