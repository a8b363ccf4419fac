"""The console has a label for every action of the log."""

import re

from directory.services.audit import ACTIONS
from tests.support.web import ROOT


def test_every_action_of_the_log_has_a_label_and_a_sentence():
    source = ROOT / "directory" / "web" / "src" / "console"
    labels = re.findall(r'"(\w+\.\w+)": ', (source / "actions.ts").read_text(encoding="utf-8"))
    sentences = re.findall(r'case "([\w.]+)"', (source / "sentences.ts").read_text(encoding="utf-8"))
    assert sorted(labels) == sorted(ACTIONS)
    assert sorted(sentences) == sorted(ACTIONS)
