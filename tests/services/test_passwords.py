"""Passwords: how they are hashed, verified and refused."""

import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from directory.services.accounts import passwords
from directory.services.accounts.passwords import check_password_rules, hash_password, needs_rehash, verify_password
from tests.support import cpu

GOOD = "correct horse battery"
OWASP = (19 * 1024, 2, 1)
MALFORMED = ["", "!", "\0", "\ud800", "$2b$12$abcdefghijklmnopqrstuv", "$argon2id$"] + [
    f"$argon2id$v=19$m={rest}"
    for rest in ("8,t=1,p=1$c2FsdA", "8,t=1,p=1$**$**", "many,t=1,p=1$c29t$aGFz", "8,t=1,p=1$c29t$h\u00e4sh")
]
ROOT = Path(__file__).resolve().parents[2]


class SpyHasher(PasswordHasher):
    """Counts the calls, and how many of them ran at once; optionally holds each one for a while."""

    def __init__(self, hold: float = 0.0) -> None:
        super().__init__(memory_cost=8, time_cost=1, parallelism=1)
        self.hold, self.calls, self.running, self.most = hold, 0, 0, 0
        self.verified: list[str] = []
        self.lock = threading.Lock()

    def _observed(self, work: Callable[[], object]) -> object:
        with self.lock:
            self.calls += 1
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            time.sleep(self.hold)
            return work()
        finally:
            with self.lock:
                self.running -= 1

    def hash(self, password, *, salt=None):
        return self._observed(lambda: super(SpyHasher, self).hash(password, salt=salt))

    def verify(self, hash, password):
        self.verified.append(hash)
        return self._observed(lambda: super(SpyHasher, self).verify(hash, password))


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest cost that Argon2 takes; monkeypatch restores what was configured before."""
    monkeypatch.setattr(passwords, "_current", passwords._current)
    passwords.configure(8, 1, 1)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> SpyHasher:
    hasher = SpyHasher()
    monkeypatch.setattr(passwords, "_current", passwords._Scheme(hasher, passwords._current.decoy))
    return hasher


def test_a_password_verifies_against_its_own_hash_and_no_other_does():
    stored = hash_password(GOOD)
    assert verify_password(stored, GOOD)
    assert not verify_password(stored, GOOD + "!")
    assert not verify_password(stored, "")


def test_two_hashes_of_one_password_differ():
    assert hash_password(GOOD) != hash_password(GOOD)


def test_a_fresh_process_hashes_as_owasp_recommends_and_has_not_read_the_common_list():
    code = "from directory.services.accounts import passwords as p; print(p._common.cache_info(), p.hash_password('x'))"
    fresh = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert " $argon2id$v=19$m=19456,t=2,p=1$" in fresh.stdout
    assert "currsize=0" in fresh.stdout


def test_a_hash_made_at_another_cost_still_verifies_and_needs_a_rehash():
    old = hash_password(GOOD)
    assert not needs_rehash(old)
    passwords.configure(16, 2, 1)
    assert verify_password(old, GOOD)
    assert needs_rehash(old)
    assert not needs_rehash(hash_password(GOOD))


def test_composed_and_decomposed_spellings_are_one_password():
    composed = "cr\u00e8me br\u00fbl\u00e9e"
    decomposed = unicodedata.normalize("NFD", composed)
    assert composed != decomposed
    assert verify_password(hash_password(decomposed), composed)
    assert verify_password(hash_password(composed), decomposed)


def test_what_follows_a_nul_counts():
    assert not verify_password(hash_password("abcdefgh\0one"), "abcdefgh\0two")


# Unknown users and unusable hashes


def test_an_unknown_user_costs_one_real_verification(spy: SpyHasher):
    assert verify_password(None, GOOD) is False
    assert spy.verified == [passwords._current.decoy]


@pytest.mark.parametrize("cost", [(8, 1, 1), (16, 2, 1), OWASP])
def test_the_decoy_is_a_well_formed_hash_at_the_cost_in_force(cost: tuple[int, int, int]):
    passwords.configure(*cost)
    decoy = passwords._current.decoy
    assert not needs_rehash(decoy)
    with pytest.raises(VerifyMismatchError):  # and no decoding error: Argon2 ran to its end
        PasswordHasher().verify(decoy, GOOD)


def test_an_unknown_user_is_refused_even_if_the_decoy_matches(monkeypatch: pytest.MonkeyPatch):
    lucky = passwords._Scheme(passwords._current.hasher, hash_password(GOOD))
    monkeypatch.setattr(passwords, "_current", lucky)
    assert verify_password(None, GOOD) is False


@pytest.mark.parametrize("stored", MALFORMED)
def test_a_malformed_hash_matches_nothing_and_raises_nothing(stored: str):
    assert verify_password(stored, GOOD) is False
    assert needs_rehash(stored) is True


# Rules


def test_a_good_password_passes():
    assert check_password_rules(GOOD, username="ada", email="ada@example.org") is None


@pytest.mark.parametrize(
    "password", ["aaaabbbbccccddde", "zzqqxxyyvv", "        x       ", "ünverwüstlich", "密码密码密码很长"]
)
def test_there_are_no_composition_rules(password: str):
    assert check_password_rules(password) is None


@pytest.mark.parametrize(("length", "bound"), [(0, "8"), (7, "8"), (129, "128"), (513, "128")])
def test_length_is_8_to_128_characters(length: int, bound: str):
    allowed = "xq7vbnzk" * 16
    assert check_password_rules(allowed[:8]) is check_password_rules(allowed) is None
    assert f" {bound} characters" in str(check_password_rules((allowed * 5)[:length]))


@pytest.mark.parametrize(("letters", "passes"), [(7, False), (8, True), (128, True), (129, False)])
def test_length_is_counted_after_normalisation(letters: int, passes: bool):
    # U+1F82 in its decomposed form is four code points, the most that NFC folds into one.
    decomposed = unicodedata.normalize("NFD", "\u1f82" * letters)
    assert len(decomposed) == 4 * letters
    assert (check_password_rules(decomposed) is None) is passes


@pytest.mark.parametrize("password", ["password", "PASSWORD", "PassWord", "iloveyou", "1234567890", "Qwertyuiop"])
def test_common_passwords_are_refused_in_any_case(password: str):
    assert "most common" in str(check_password_rules(password))


def test_the_common_list_is_long_ordered_and_clean():
    lines = passwords._COMMON_PASSWORDS.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) >= 5_000
    assert lines[:2] == ["password", "12345678"]
    assert all(len(line) >= passwords.MIN_LENGTH and line == line.casefold().strip() for line in lines)
    assert passwords._common() is passwords._common()


@pytest.mark.parametrize(
    ("password", "which"),
    [("ADA-Lovelace", "username"), ("ada@example.org", "e-mail"), ("Ada@Example.ORG", "e-mail")],
)
def test_the_username_and_the_email_address_are_refused(password: str, which: str):
    assert which in str(check_password_rules(password, username="ada-lovelace", email="ada@example.org"))


# Hostile input


@pytest.mark.parametrize("password", ["\ud800bcdefgh", "abcdefg\udfff", "\ud83d\ude00abcdefgh"])
def test_lone_surrogates_are_refused_and_never_raise(password: str, spy: SpyHasher):
    assert "Unicode" in str(check_password_rules(password))
    assert verify_password(passwords._current.decoy, password) is False
    assert verify_password(None, password) is False
    with pytest.raises(ValueError, match="Unicode"):
        hash_password(password)
    assert spy.calls == 0


@pytest.mark.parametrize("unit", ["a", "\u0301\u0323", "\U0001f600"])
def test_ten_megabytes_are_refused_at_once_without_hashing(unit: str, spy: SpyHasher):
    password = "a" + unit * (10_000_000 // len(unit.encode()))
    with cpu.at_most(2):
        assert "at most 128" in str(check_password_rules(password))
        assert verify_password(passwords._current.decoy, password) is False
        assert verify_password(None, password) is False
        with pytest.raises(ValueError, match="at most 128"):
            hash_password(password)
    assert spy.calls == 0


def test_129_characters_are_not_hashed(spy: SpyHasher):
    assert verify_password(None, "x" * 129) is False
    with pytest.raises(ValueError, match="at most 128"):
        hash_password("x" * 129)
    assert spy.calls == 0


def test_at_most_two_hashes_run_at_once(monkeypatch: pytest.MonkeyPatch):
    stored = hash_password(GOOD)
    slow = SpyHasher(hold=0.02)
    monkeypatch.setattr(passwords, "_current", passwords._Scheme(slow, passwords._current.decoy))
    work = [
        lambda: hash_password(GOOD),
        lambda: verify_password(stored, GOOD),
        lambda: verify_password(None, GOOD),
    ]
    with ThreadPoolExecutor(max_workers=12) as pool:
        for done in [pool.submit(job) for job in work * 4]:
            done.result(timeout=10)
    assert (slow.calls, slow.most) == (12, 2)
