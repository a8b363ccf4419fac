"""Audits of the pages by Lighthouse and axe."""
