"""A mailing list."""

from askonce.types import Post

MBOX = """\
From ada@bikes.example Mon Mar  4 10:00:00 2024
Message-ID: <q1@bikes.example>
From: =?utf-8?q?Ad=C3=A9?= <ada@bikes.example>
Subject: [bikes] Chain skips
 under load
Date: Mon, 04 Mar 2024 10:00:00 +0100
List-Id: Bicycle talk <talk.bikes.example>
Archived-At: <https://lists.bikes.example/q1>

It jumps when I climb a steep hill.
>From the bottom.

--
Ada, 555-1234

From ben at bikes.example  Mon Mar  4 11:00:00 2024
Message-ID: <a1@bikes.example>
In-Reply-To: <q1@bikes.example>
References: <q1@bikes.example>
From: ben at bikes.example (Ben)
Subject: Re: [bikes] Chain skips under load

On Monday, Ada wrote:
> It jumps when I climb a steep hill.

The cassette is worn.

From what I saw in March 2024

From ada@bikes.example Mon Mar  4 12:00:00 2024
Message-ID: <t1@bikes.example>
References: <q1@bikes.example> <a1@bikes.example>
From: =?utf-8?q?Ad=C3=A9?= <ada@bikes.example>
Subject: Re: [bikes] Chain skips under load

Thanks!

From cy@bikes.example Mon Mar  4 13:00:00 2024
Message-ID: <a2@bikes.example>
From: Cy via Bicycle talk <talk@bikes.example>
Subject: Something else entirely
References: <lost@bikes.example>

Quoting is enough here.
> It jumps when I climb a steep hill.

From dee@bikes.example Mon Mar  4 14:00:00 2024
From: Dee <dee@bikes.example>
Subject: no id

Hello.
"""

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "list.mbox",
    MBOX,
    {},
    [
        Post(
            "q1@bikes.example",
            "Chain skips under load",
            "It jumps when I climb a steep hill.\nFrom the bottom.",
            created="2024-03-04T09:00:00Z",
            url="https://lists.bikes.example/q1",
            author="Adé",
            site="talk.bikes.example",
        ),
        Post(
            "a1@bikes.example",
            body="The cassette is worn.\n\nFrom what I saw in March 2024",
            kind="answer",
            parent="q1@bikes.example",
            author="Ben",
        ),
        Post(
            "a2@bikes.example",
            body="Quoting is enough here.",
            kind="answer",
            parent="q1@bikes.example",  # as it quotes it
            author="Cy",
        ),
    ],
)
FLAW = "list.mbox, message 5 at line 47: expected a message, found no Message-ID"
