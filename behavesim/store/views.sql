-- Views of a journal for people; nothing here reads them. docs/reference/sql.md lists them.

CREATE VIEW candidates AS
WITH latest AS (  -- a candidate that was repaired was asked, answered and rejected before; the last of each counts
    SELECT candidate, type, max(seq) AS seq, at, payload
    FROM events WHERE candidate >= 0 GROUP BY candidate, type
)
SELECT
    asked.candidate AS candidate,
    CASE WHEN raced.seq > evaluated.seq AND raced.payload ->> 'reason' != '' THEN 'rejected'  -- failed in a race
         WHEN evaluated.seq > asked.seq THEN 'feasible'
         WHEN rejected.seq > asked.seq THEN 'rejected'
         ELSE 'open' END AS status,
    CASE WHEN evaluated.seq > asked.seq THEN 'evaluation'
         WHEN rejected.seq > asked.seq THEN rejected.payload ->> 'stage' END AS stage,
    CASE WHEN rejected.seq > asked.seq THEN rejected.payload ->> 'reason'
         WHEN raced.seq > evaluated.seq THEN nullif(raced.payload ->> 'reason', '') END AS reason,
    coalesce(ended.payload ->> 'score', evaluated.payload ->> 'score') AS score,
    coalesce(evaluated.payload ->> 'source', rejected.payload ->> 'source') AS source,
    evaluated.payload ->> 'program_hash' AS program,
    asked.payload -> 'parents' AS parents,
    iif(added.payload ->> 'group' GLOB '[0-9]*', added.payload ->> 'group' + 0, added.payload ->> 'group') AS island,
    responded.payload ->> '$.reply.model' AS model,
    spent.prompt_tokens AS prompt_tokens,
    spent.completion_tokens AS completion_tokens,
    datetime(asked.at, 'unixepoch') AS asked_at,
    datetime(responded.at, 'unixepoch') AS responded_at,
    datetime(iif(evaluated.seq > asked.seq, evaluated.at, iif(rejected.seq > asked.seq, rejected.at, NULL)),
             'unixepoch') AS done_at,  -- UTC, as the others
    CASE WHEN evaluated.seq > asked.seq THEN evaluated.payload ->> 'feedback'
         WHEN rejected.seq > asked.seq THEN rejected.payload ->> 'feedback' END AS feedback
FROM latest AS asked
LEFT JOIN latest AS responded ON responded.candidate = asked.candidate AND responded.type = 'Responded'
LEFT JOIN latest AS evaluated ON evaluated.candidate = asked.candidate AND evaluated.type = 'Evaluated'
LEFT JOIN latest AS raced ON raced.candidate = asked.candidate AND raced.type = 'Raced'
LEFT JOIN latest AS ended ON ended.candidate = asked.candidate AND ended.type = 'RaceEnded'
LEFT JOIN latest AS rejected ON rejected.candidate = asked.candidate AND rejected.type = 'Rejected'
LEFT JOIN latest AS added ON added.candidate = asked.candidate AND added.type = 'Added'
LEFT JOIN (
    SELECT events.candidate, sum(call.value ->> 'prompt') AS prompt_tokens,
           sum(call.value ->> 'completion') AS completion_tokens
    FROM events, json_each(events.payload, '$.reply.calls') AS call
    WHERE events.type = 'Responded' GROUP BY events.candidate
) AS spent ON spent.candidate = asked.candidate
WHERE asked.type = 'Asked';

CREATE VIEW metrics AS  -- what tasks and evaluators told besides the score; text where it is no finite number
SELECT
    outcome.candidate AS candidate,
    metric.key AS metric,
    iif(metric.type = 'text', NULL, metric.value) AS value,
    iif(metric.type = 'text', metric.value, NULL) AS text
FROM events AS outcome, json_each(outcome.payload, '$.metrics') AS metric
WHERE outcome.seq IN (SELECT max(seq) FROM events WHERE type IN ('Evaluated', 'Rejected') GROUP BY candidate)
ORDER BY outcome.candidate;

CREATE VIEW ranked AS  -- every feasible candidate; the lowest cost is the best, whichever way the task goes
WITH objective AS (
    SELECT iif(payload ->> '$.provenance.direction' = 'maximise', -1, 1) AS sign
    FROM events WHERE type = 'RunStarted' LIMIT 1
)
SELECT candidates.*, score * sign AS cost, sign FROM candidates, objective WHERE status = 'feasible';

CREATE VIEW best AS SELECT candidate, score, island, source FROM ranked ORDER BY cost, candidate LIMIT 1;

CREATE VIEW top AS  -- the ten best programs, each with the first candidate that wrote it
SELECT min(candidate) AS candidate, score, island, count(*) AS copies, source
FROM ranked GROUP BY program ORDER BY cost, candidate LIMIT 10;

CREATE VIEW convergence AS
SELECT candidate, score, sign * min(cost) OVER (ORDER BY candidate) AS best, done_at FROM ranked ORDER BY candidate;

CREATE VIEW islands AS
WITH founded AS (
    SELECT seq, grouped.key AS island, member.value AS candidate
    FROM events, json_each(events.payload, '$.groups') AS grouped, json_each(grouped.value) AS member
    WHERE events.type = 'Regrouped' AND NOT events.payload ->> 'selection'
    UNION ALL
    SELECT seq, payload ->> 'group', candidate
    FROM events WHERE events.type = 'Added' AND payload ->> 'group' IS NOT NULL
),
begun AS (
    SELECT island, max(seq) AS seq FROM founded
    WHERE seq IN (SELECT events.seq FROM events WHERE events.type = 'Regrouped')
    GROUP BY island
),
evicted AS (
    SELECT seq, member.value AS candidate
    FROM events, json_each(events.payload, '$.evicted') AS member
    WHERE events.type = 'Added'
)
SELECT
    iif(founded.island GLOB '[0-9]*', founded.island + 0, founded.island) AS island,
    count(*) AS size,
    count(DISTINCT evaluated.payload ->> 'score') AS clusters,
    min(evaluated.payload ->> 'score') AS lowest_score,
    max(evaluated.payload ->> 'score') AS highest_score,
    max(founded.candidate) AS newest
FROM founded
LEFT JOIN begun ON begun.island = founded.island
JOIN events AS evaluated ON evaluated.candidate = founded.candidate AND evaluated.type = 'Evaluated'
WHERE founded.seq >= coalesce(begun.seq, 0) AND NOT EXISTS (
    SELECT 1 FROM evicted WHERE evicted.candidate = founded.candidate AND evicted.seq >= founded.seq
)
GROUP BY founded.island ORDER BY island;

CREATE VIEW spend AS  -- a proposer that asks nobody, such as the offline one, makes no calls, and they cost nothing
SELECT
    events.payload ->> '$.reply.model' AS model,
    call.value ->> 'tier' AS tier,
    count(DISTINCT events.seq) AS replies,
    count(call.value) AS calls,
    sum(call.value ->> 'prompt') AS prompt_tokens,
    sum(call.value ->> 'cached') AS cached_tokens,
    sum(call.value ->> 'cache_write') AS cache_write_tokens,
    sum(call.value ->> 'completion') AS completion_tokens,
    sum(call.value ->> 'reasoning') AS reasoning_tokens,
    iif(count(call.value), sum(call.value ->> 'cost_usd'), 0) AS cost_usd,
    count(call.value) - count(call.value ->> 'cost_usd') AS unpriced
FROM events LEFT JOIN json_each(events.payload, '$.reply.calls') AS call
WHERE events.type IN ('Responded', 'NoteReceived')
GROUP BY model, tier;
