"""Many at once: batches give what single calls give, and beyond the limits comes a clear no."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import HTTPException

from askonce.engine import Engine
from askonce.server import Keys, LaneSettings, ServerSettings
from askonce.server.batching import Batcher
from askonce.server.guard.lanes import Lane

QUESTIONS = [
    *("rear tyre goes flat", "chain jumps uphill", "squealing disc brake", "bike stolen at work"),
    *("knee pain after riding", "winter gloves", "stripped pedal thread", "which chain oil"),
]


class Gated(Engine):
    """A real engine that answers only while its gate is open, and remembers its batches."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.gate, self.batches = threading.Event(), []
        self.gate.set()

    def similar_many(self, questions, *args):
        self.batches.append(list(questions))
        assert self.gate.wait(60)
        return super().similar_many(questions, *args)


@pytest.fixture
def gated(bicycles_folder):
    with Gated.open(bicycles_folder) as engine:
        yield engine
        engine.gate.set()


def similar(client, q, **params):
    return client.get("/api/similar", params={"q": q, **params})


def in_a_loop(coroutine, loop_factory=None):
    """Run it in a thread of its own: the browser's tests leave a running loop in this one."""

    def run():
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(coroutine)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


def ids(response):
    return [(hit["id"], pytest.approx(hit["score"])) for hit in response.json()["similar"]]


def test_questions_that_wait_are_answered_together_as_they_would_be_alone(gated, serve, wait_until):
    settings = ServerSettings(threads=1, batch=5, queries=LaneSettings(20, queue=20, timeout=20))
    client = serve(settings, gated)
    alone = [ids(similar(client, q)) for q in QUESTIONS]
    gated.batches.clear()
    gated.gate.clear()
    with ThreadPoolExecutor(len(QUESTIONS) + 2) as clients:
        first = clients.submit(similar, client, "the first one finds a free thread")
        wait_until(lambda: len(gated.batches) == 1)
        rest = [clients.submit(similar, client, q) for q in QUESTIONS]
        other = clients.submit(similar, client, QUESTIONS[0], k=3)
        wait_until(lambda: 'askonce_working{lane="queries"} 10.0' in client.get("/metrics").text)
        gated.gate.set()
        together = [ids(future.result()) for future in rest]
        assert len(ids(other.result())) == 3 and first.result().status_code == 200
    assert together == alone
    assert sorted(map(len, gated.batches)) == [1, 1, 3, 5]  # the first, another k, eight in two


def test_one_bad_question_does_not_spoil_the_batch(gated, serve, wait_until):
    settings = ServerSettings(threads=1, queries=LaneSettings(9, queue=9, timeout=20))
    client = serve(settings, gated)
    gated.gate.clear()
    with ThreadPoolExecutor(4) as clients:
        first = clients.submit(similar, client, "first")
        wait_until(lambda: len(gated.batches) == 1)
        bad = clients.submit(similar, client, "wheel", ranker="magic")
        good = clients.submit(similar, client, "wheel")
        wait_until(lambda: 'askonce_working{lane="queries"} 3.0' in client.get("/metrics").text)
        gated.gate.set()
        assert (bad.result().status_code, good.result().status_code) == (422, 200)
        assert first.result().status_code == 200


def test_more_than_fits_is_refused_at_once_or_after_a_short_wait(gated, serve, wait_until):
    patient, brief = (
        serve(ServerSettings(queries=LaneSettings(2, queue=1, timeout=timeout)), gated)
        for timeout in (60, 1.0)
    )
    gated.gate.clear()
    with ThreadPoolExecutor(5) as clients:
        working = []

        def occupy(client):
            """One question after the other: those that come together share a batch."""
            for question in QUESTIONS[:2]:
                working.append(clients.submit(similar, client, question))
                wait_until(lambda: len(gated.batches) == len(working))

        occupy(patient)
        waiting = clients.submit(similar, patient, "waits")
        wait_until(lambda: 'askonce_waiting{lane="queries"} 1.0' in patient.get("/metrics").text)
        full = similar(patient, "finds the queue full")
        occupy(brief)
        started = time.monotonic()
        late = similar(brief, "waits in vain")
        assert time.monotonic() - started >= 1
        for refused in (full, late):
            assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
            assert refused.json()["error"]["type"] == "unavailable"
        assert patient.get("/healthz").status_code == 200  # monitoring never waits
        assert not waiting.done()
        gated.gate.set()
        assert [future.result().status_code for future in [*working, waiting]] == [200] * 5
    assert similar(patient, "afterwards all is well").status_code == 200
    for client in (patient, brief):
        assert 'askonce_refused_total{lane="queries"} 1.0' in client.get("/metrics").text


def test_a_burst_waits_longer_than_requests_of_an_overload():
    now = [0.0]
    settings = LaneSettings(1, queue=100, timeout=0.001, burst=30.0)
    lane = Lane("queries", settings, lambda: now[0])

    async def scene():
        done = asyncio.Event()

        async def work():
            async with lane.slot():
                await done.wait()
            return 200

        tasks = [asyncio.create_task(work()) for _ in range(5)]
        await asyncio.sleep(0.05)  # longer than the timeout
        assert (lane.working, lane.waiting, lane.refused) == (1, 4, 0)
        now[0] = 31.0  # the queue has not been empty since
        with pytest.raises(HTTPException):
            await work()
        assert (lane.waiting, lane.refused) == (4, 1)
        done.set()
        assert await asyncio.gather(*tasks) == [200] * 5
        done.clear()
        tasks = [asyncio.create_task(work()) for _ in range(3)]  # another burst
        await asyncio.sleep(0.05)
        assert (lane.waiting, lane.refused) == (2, 1)
        done.set()
        assert await asyncio.gather(*tasks) == [200] * 3

    in_a_loop(scene())


class SlowWork:
    """Requests in a lane whose clock stands still; the oldest one ends when it is told to."""

    def __init__(self, settings):
        self.now, self._gates = 0.0, []
        self.lane = Lane("queries", settings, lambda: self.now)

    async def arrive(self, count):
        tasks = [asyncio.create_task(self._work()) for _ in range(count)]
        await self._settle()
        return tasks

    async def end_one(self, seconds):
        self.now += seconds
        self._gates.pop(0).set()
        await self._settle()

    async def end_all(self):
        while self._gates:
            await self.end_one(1.0)

    @property
    def counts(self):
        return self.lane.working, self.lane.waiting, self.lane.refused

    async def _work(self):
        async with self.lane.slot():
            self._gates.append(asyncio.Event())
            await self._gates[-1].wait()
        return 200

    async def _settle(self):
        for _ in range(5):
            await asyncio.sleep(0)


def test_what_a_lane_cannot_serve_in_time_is_refused_at_once_until_it_was_idle():
    work = SlowWork(LaneSettings(2, queue=100, timeout=0.5, burst=3.0))

    async def run():
        first = await work.arrive(4)  # nothing is known yet: all wait
        assert work.counts == (2, 2, 0)
        await work.end_all()
        burst = await work.arrive(9)  # one ends each second, and three seconds are the longest wait
        assert work.counts == (2, 3, 4)
        refused = [task.exception() for task in burst[5:]]
        assert {(error.status_code, error.headers["Retry-After"]) for error in refused} == {
            (503, "4")
        }
        for _ in range(3):
            await work.end_one(1.0)
        late = await work.arrive(4)  # nobody was refused for three seconds: a burst again
        assert work.counts == (2, 3, 5)
        await work.end_one(1.0)
        late += await work.arrive(1)  # in an overload the longest wait is half a second
        assert work.counts == (2, 2, 6)
        await work.end_all()
        assert [await task for task in (*first, *burst[:5], *late[:3])] == [200] * 12
        again = await work.arrive(5)  # it was idle
        assert work.counts == (2, 3, 6)
        await work.end_all()
        assert await asyncio.gather(*again) == [200] * 5
        assert {task.exception().status_code for task in late[3:]} == {503}

    in_a_loop(run())


@pytest.mark.parametrize("clients", [4, 8])
def test_requests_that_end_together_count_each_for_the_pace_of_a_lane(clients):
    work = SlowWork(LaneSettings(8, queue=100, timeout=0.5, burst=2.0))

    async def run():
        for _ in range(10):  # with as many clients as slots, none ever waits
            await work.arrive(clients)
            await work.end_one(1.0)
            for _ in range(clients - 1):
                await work.end_one(0.0)
        burst = await work.arrive(50)  # each second as many end as there were clients
        waiting = work.lane.waiting
        assert waiting == pytest.approx(2 * clients, abs=clients / 2)
        await work.end_all()
        answered = await asyncio.gather(*burst, return_exceptions=True)
        assert answered.count(200) == 8 + waiting

    in_a_loop(run())


def test_a_batch_gathers_the_next_questions_of_those_that_were_just_answered():
    sizes, started, may_end = [], threading.Event(), threading.Event()

    def answer(key, questions):
        started.set()
        assert may_end.wait(60)
        return questions

    async def ask_twice(batcher):
        for _ in range(2):
            assert await batcher.submit("key", "a question") == "a question"

    async def run():
        batcher = Batcher(answer, 1, 8, sizes.append)
        clients = [asyncio.create_task(ask_twice(batcher)) for _ in range(3)]
        while not started.is_set():
            await asyncio.sleep(0.001)
        clients += [asyncio.create_task(ask_twice(batcher)) for _ in range(2)]
        await asyncio.sleep(0)  # they ask
        may_end.set()
        await asyncio.gather(*clients)
        batcher.close()

    in_a_loop(run())
    assert sizes == [3, 5, 2]


@pytest.mark.parametrize(("workers", "sizes"), [(0, [6, 5]), (1, [6, 5]), (3, [3, 3, 3, 2])])
def test_places_share_the_questions_under_way(workers, sizes):
    ran, free = [], [workers]

    def find_worker(key):
        if not free[0]:
            return None
        free[0] -= 1

        async def answer(key, questions):
            await asyncio.sleep(0.2)
            free[0] += 1
            return questions

        return answer

    def answer(key, questions):
        time.sleep(0.2)
        return questions

    async def run():
        threads = 1 if workers else 2
        batcher = Batcher(answer, threads, 8, ran.append, None, find_worker, lambda: workers)
        results = await asyncio.gather(*(batcher.submit("key", str(n)) for n in range(11)))
        assert results == [str(n) for n in range(11)]
        batcher.close()

    in_a_loop(run())
    assert ran == sizes


def test_a_burst_is_answered_in_full_if_it_may_wait_long_enough(serve):
    client = serve(ServerSettings(queries=LaneSettings(2, queue=512, timeout=0.001, burst=60)))
    similar(client, QUESTIONS[0])
    with ThreadPoolExecutor(60) as clients:
        responses = list(clients.map(lambda q: similar(client, q), 12 * QUESTIONS))
    assert {response.status_code for response in responses} == {200}


def test_a_lane_takes_on_fewer_while_work_is_slow_and_more_when_it_is_quick_again():
    now = [0.0]
    settings = LaneSettings(8, queue=100, timeout=60, target_seconds=0.1, min_concurrency=2)
    lane = Lane("queries", settings, lambda: now[0])

    async def work(seconds):
        async with lane.slot():
            await asyncio.sleep(0)
            now[0] += seconds

    async def most(count, seconds):
        """How many of these requests run at the same time."""
        tasks = [asyncio.create_task(work(seconds)) for _ in range(count)]
        await asyncio.sleep(0)
        at_once = lane.working
        await asyncio.gather(*tasks)
        assert lane.working == lane.waiting == 0
        return at_once

    async def run():
        assert await most(30, 0) == 8
        assert await most(1, 1) == 1
        assert await most(9, 0) == 5
        await most(30, 1)
        assert await most(30, 1) == 2
        await most(70, 0)
        assert await most(9, 0) == 8

    in_a_loop(run())


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop in which time passes only while everything waits, and then at once."""

    def __init__(self):
        super().__init__()
        self.now, select = 0.0, self._selector.select

        def jump(timeout=None):
            self.now += timeout or 0
            return select(0)

        self._selector.select = jump

    def time(self):
        return self.now


def test_a_request_waits_as_long_as_the_timeout_and_no_longer():
    lane = Lane("queries", LaneSettings(1, queue=4, timeout=5))

    async def run():
        loop = asyncio.get_running_loop()
        async with lane.slot():
            waiting = [asyncio.create_task(lane.slot().__aenter__()) for _ in range(4)]
            ended = await asyncio.gather(*waiting, return_exceptions=True)
            assert [error.status_code for error in ended] == [503] * 4
            assert loop.time() == pytest.approx(5, abs=1e-6)
            assert lane.refused == 4 and lane.waiting == 0 and lane.working == 1
        assert lane.working == 0

    in_a_loop(run(), JumpingLoop)


def test_a_client_that_disconnects_while_waiting_frees_its_slot():
    lane = Lane("queries", LaneSettings(1, queue=4, timeout=5))

    async def run():
        gate = asyncio.Event()

        async def work():
            async with lane.slot():
                await gate.wait()

        first, gone, last = (asyncio.create_task(work()) for _ in range(3))
        await asyncio.sleep(0)
        gone.cancel()
        gate.set()
        await asyncio.gather(first, last)
        assert gone.cancelled() and lane.working == lane.waiting == 0

    in_a_loop(run())


def test_edits_of_one_post_at_the_same_time_lose_nothing(writing):
    def edit(field):
        return writing.put("/api/posts/q002", json=field).status_code

    fields = [{"title": "Another title"}, {"score": 7}, {"tags": ["one"]}, {"accepted": True}] * 4
    with ThreadPoolExecutor(8) as clients:
        assert set(clients.map(edit, fields)) == {200}
    post = writing.get("/api/posts/q002").json()["post"]
    assert (post["title"], post["votes"], post["tags"], post["accepted"]) == (
        *("Another title", 7, ["one"], True),
    )


def test_before_the_archive_is_open_the_server_says_so(serve, bicycles_folder):
    from askonce.archive import open_archive

    engine = Engine(open_archive(bicycles_folder))
    try:
        client = serve(ServerSettings(keys=Keys(open_writes=True)), engine)
        assert client.get("/healthz").status_code == 200
        ready = client.get("/readyz")
        assert ready.status_code == 503 and ready.json()["ready"] is False
        assert ready.headers["retry-after"] == "1"
        for path in ("/api/similar?q=x", "/api/ask?q=x", "/api/rankers", "/api/models"):
            refused = client.get(path)
            assert refused.status_code == 503 and refused.headers["retry-after"] == "1", path
        assert client.post("/rerank", json={"query": "x", "documents": ["y"]}).status_code == 503
        engine.start(background=False)
        assert client.get("/readyz").status_code == 200
        assert similar(client, "wheel").status_code == 200
    finally:
        engine.close()
