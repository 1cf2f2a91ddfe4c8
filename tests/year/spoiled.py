"""Does the judge see it? Mails of accounts of which all goes well but the money are spoiled, one at a time, and judged again:
each has to be complained of, and none of them as they came."""
import copy
import re

import judge

AT_MOST = 8


def one_more(found):
    return str(int(found[0]) + 1)


def instead(pattern, by, *events):
    """The subject says something else."""
    def spoil(mail):
        if not (mail.news and mail.news[0][1].split(":")[0] in events and re.search(pattern, mail.subject)):
            return None
        other = copy.copy(mail)
        other.subject = re.sub(pattern, by, mail.subject, count=1)
        other.text = re.sub(pattern, by, mail.text)
        return [other]
    return spoil


def again(mail):
    other = copy.copy(mail)
    other.name += " again"
    other.at += 1
    return [mail, other] if "/disconnect/" in mail.news[0][0] else None


def lost(mail):
    return [] if "/disconnect/" in mail.news[0][0] else None


RUNGS = ("rung", "overdue", "deletion")
SPOILED = {
    "lost": lost,
    "told twice": again,
    "a unit more to pay": instead(r"(?<=: pay )\d+", one_more, *RUNGS, "paid", "extended"),
    "a day more until the deletion": instead(r"(?<=, in )\d+(?= days?: )", one_more, "deletion"),
    "another day": instead(r"(?<=OVERDUE since )\w+|(?<=Cut-off )(?!now)\w+", "Xxx", "rung", "overdue"),
    "in another state than it is": instead(r"(now|still) blocked, w", r"\1 active, w", "reminder"),
}


def spoil(lane):
    """A verdict on the judge: what it saw, and what it did not."""
    verdict, came = judge.judge(lane), lane.mail_server.mails
    for what, change in SPOILED.items():
        places = [place for place, mail in enumerate(came) if mail.news and change(mail) is not None]
        if not places:
            verdict.wrong(f"no mail to try: {what}", "")
        # All over the time.
        for place in places[::-(-len(places) // AT_MOST) or 1]:
            lane.mail_server.mails = came[:place] + change(came[place]) + came[place + 1:]
            if judge.judge(lane).complaints:
                verdict.count(f"seen: {what}")
            else:
                verdict.wrong(f"not seen: {what}", f"{came[place].news[0]} {came[place].subject}")
    return verdict
