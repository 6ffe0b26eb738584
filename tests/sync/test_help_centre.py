"""Help centres: articles by change time, posts of the community by their activity."""

from urllib.parse import parse_qs, urlsplit

from askonce.data.forums import Source
from askonce.sync import sync
from tests.sync.conftest import serving


def test_articles_of_a_help_centre_are_followed(archive, client):
    def article(number, title, time):
        return {"id": number, "title": title, "body": "<p>Do this.</p>", "time": time}

    articles = [article(1, "Reset a password", 100), article(2, "Send it back", 200)]
    asked = []

    def answer(handler):
        if handler.path.startswith("/api/v2/community/"):  # it has none
            handler.reply(404)
            return
        start = int(handler.path.rpartition("start_time=")[2].partition("&")[0])
        asked.append(start)
        changed = [item for item in articles if item["time"] > start]
        page = changed[:1]
        end = page[-1]["time"] if page else start
        more = "next" if len(changed) > 1 else None
        handler.reply(200, {"articles": page, "end_time": end, "next_page": more})

    with serving(answer) as address:
        assert sync(archive, Source(), "zendesk", address, client).added == 4
        assert asked == [0, 100]
        articles[0] = article(1, "Choose a new password", 300)
        sync(archive, Source(), "zendesk", address, client)
        assert asked[2:] == [200]
    assert archive.post("article-1").title == "Choose a new password"
    assert archive.post("article-2-text").parent == "article-2"


class Community:
    """The community of a help centre: posts by activity, newest first, and their comments."""

    def __init__(self, count):
        self.activity = list(range(1, count + 1))  # the newest last
        self.comments = {number: [f"Reply to {number}"] for number in self.activity}
        self.read, self.before_page = [], {}

    def comment(self, number):
        self.comments[number].append("One more")
        self.activity.remove(number)
        self.activity.append(number)

    def delete(self, number):
        self.activity.remove(number)

    def answer(self, handler):
        url = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if "incremental" in url.path:
            handler.reply(200, {"articles": [], "end_time": 0, "next_page": None})
        elif url.path.endswith("/comments.json"):
            number = int(url.path.split("/")[-2])
            self.read.append(number)
            page = int(query["page"])  # one comment on each
            text = self.comments[number][page - 1]
            comment = {"id": f"{number}{page}", "post_id": number, "body": text, "author_id": 7}
            more = "next" if page < len(self.comments[number]) else None
            users = [{"id": 7, "name": "Ada"}]
            handler.reply(200, {"comments": [comment], "next_page": more, "users": users})
        else:
            assert query["sort_by"] == "recent_activity"
            page = int(query["page"])
            self.before_page.pop(page, lambda: None)()
            newest, size = self.activity[::-1], int(query["per_page"])
            shown = newest[(page - 1) * size : page * size]
            more = "next" if page * size < len(newest) else None
            posts = [self.post(number) for number in shown]
            handler.reply(200, {"posts": posts, "next_page": more, "count": len(newest)})

    def post(self, number):
        replies = len(self.comments[number])
        return {"id": number, "title": f"Why {number}?", "details": "", "comment_count": replies}

    def ids(self):
        comments = {
            f"comment-{number}{page}"
            for number in self.activity
            for page in range(1, len(self.comments[number]) + 1)
        }
        return comments | {f"post-{number}" for number in self.activity}


def test_questions_of_a_community_are_followed_by_their_activity(archive, client):
    community = Community(60)
    with serving(community.answer) as address:

        def follow_community(full=False):
            community.read.clear()
            return sync(archive, Source(), "zendesk", address, client, full)

        assert follow_community().added == 120
        assert {post.id for post in archive.iterate()} == community.ids()
        reply = archive.post("comment-601")
        assert (reply.parent, reply.author, reply.body) == ("post-60", "Ada", "Reply to 60")
        assert follow_community().added == 0 and community.read == []
        community.comment(3)
        community.comment(60)  # the first post of the last pass
        assert follow_community().added == 2
        assert sorted(set(community.read)) == [3, 60]
        community.delete(5)
        assert follow_community(full=True).deleted == 2
        assert {post.id for post in archive.iterate()} == community.ids()


def test_a_post_that_is_deleted_while_pages_are_read_hides_no_other(archive, client):
    community = Community(60)
    community.before_page[2] = lambda: community.delete(50)
    with serving(community.answer) as address:
        sync(archive, Source(), "zendesk", address, client)
        assert community.ids() <= {post.id for post in archive.iterate()}


def test_a_community_that_is_not_open_does_not_hide_the_articles(archive, client):
    def answer(handler):
        if handler.path.startswith("/api/v2/community/"):
            handler.reply(403)
            return
        article = {"id": 1, "title": "Reset a password", "body": "<p>Do this.</p>"}
        handler.reply(200, {"articles": [article], "end_time": 5, "next_page": None})

    with serving(answer) as address:
        summary = sync(archive, Source(), "zendesk", address, client)
    assert (summary.added, summary.damaged) == (2, 1)
    assert "status 403" in summary.examples[0]
