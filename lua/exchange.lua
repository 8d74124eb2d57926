-- exchange.lua: settle the jobs that have ended, then reserve the next ones: all of a worker's traffic.
--
--   parts    reserve look
--   need     lanes arrivals passage pauses orders budget refusals
--   need     texts failed marks unique ends ties tied batches told aside follow settle refresh
--
--   KEYS[1] client                   string  the recorded answer to this client
--   KEYS[2] control                  hash    restart -> token; paused:<key of ready> -> name, until:<…> -> its end (s)
--   KEYS[3] cancelled                zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[4] reasons                  hash    id of a cancelled job -> its reason
--   KEYS[5] unique                   hash    unique key -> its holder
--   KEYS[6] batches                  hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[7] cancelled_batches        zset    id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[8] lanes                    hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[9] held                     zset    jobs that wait until their lane has room
--   KEYS[6i+4] ready                 list    for each queue i: payloads ready to run
--   KEYS[6i+5] delayed               zset    for each queue i: payload -> due time (s)
--   KEYS[6i+6] reserved              zset    for each queue i: payload -> lease end (s)
--   KEYS[6i+7] notify                list    for each queue i: wake-up hints
--   KEYS[6i+8] failed                zset    for each queue i: id -> when it failed (s)
--   KEYS[6i+9] failed_jobs           hash    for each queue i: id -> meta line, payload
--   ARGV[1] offset                   number  see parts/base.lua
--   ARGV[2] sequence                 number  see parts/base.lua
--   ARGV[3] client_id                string  prefix of the ids that we give
--   ARGV[4] lease                    number  seconds until a silent holder loses its job
--   ARGV[5] limit                    number  reservations wanted; 0: none, only settle and refresh
--   ARGV[6] sources                  number  reserve from this many of the first queues, in order, or refresh them
--   ARGV[7..] outcomes               groups of: kind, queue, count, then for each of `count` outcomes
--                                    completed (and cancelled): token; released: token, keep, tail, delay (or '@' and
--                                    the moment; or 'front': to the head, each before the previous one);
--                                    failed: token, keep, tail, id, meta;
--                                    next: delay (as above; 0: ready at once), payload: goes into this queue in the
--                                    same step as the outcome after it. It is no outcome itself: it has no place.
--                                    Suffixes of a kind add arguments to each outcome, in this order:
--                                    completed+next: payload, ready at once in this queue in the same step;
--                                    completed+unique, failed+unique: key, tie: of a job with a unique key (see
--                                    parts/unique.lua); released+unique: the same, and the job gives up its key;
--                                    failed+batch: cause, as JSON, or '';
--                                    +lane, always last: the lane, which the job leaves unless it is released and ready
--                                    at once. next+lane, which adds none: each of these jobs has a lane.
--                                    After the count of completed+batch and failed+batch come the id of the batch,
--                                    and by how much each outcome changes its numbers: pending, completed, failed,
--                                    skipped. Jobs that the batch sends then go to the queues that it names
--
--   A token is the reservation's exact text: the fence. The next text is its first `keep` bytes and `tail`; nothing is
--   encoded.
--
--   returns  {'exchanged', next_in, now, jobs, ..., news} | {'stale'}  ('stale' writes nothing)
--            next_in: until another look is worthwhile (µs), 0 now, -1 never; now: the time (µs); jobs: for each queue
--            that gave some, {queue, text, ...}; news, if there is any: words, each with its value:
--            lost, places (from 1) of outcomes whose reservation is gone: nothing was written for them;
--            aside, {queue, id, reason, ...} of texts that are no JSON object and went to failed; restart, token;
--            paused, places of queues; cancelled, places of jobs, each with its reason; unrecorded, 1 (there is no
--            record of a call of this client); unsettled, {words, place, ...}: Redis's error, and the outcomes that
--            it refused, whose jobs stay reserved: then no job is handed out; skipped, {queue, words, ...}: queues
--            that gave nothing, and why (0: the orders)
--   keeps    I1 I2 I3 I4 I5 I6 I7 I9 I10 I11 I12 I14 I18
--   cost     O(log n) for each job moved; at most 100 jobs or 1 MiB of text for each of promote, reclaim and reserve

local client, control, cancelled, reasons, unique = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local batches, cancelled_batches, lanes, held = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local sequence, client_id = tonumber(ARGV[2]), ARGV[3]
local lease, limit, sources = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
-- LATE: microseconds for which a client that got all it wanted does not look for due jobs.
local FIRST_OUTCOME, LATE = 7, 20000

local queues = {}
for first = 10, #KEYS, 6 do
  local ready, delayed, reserved, notify, failed, failed_jobs = unpack(KEYS, first, first + 5)
  queues[#queues + 1] = {
    ready = ready, delayed = delayed, reserved = reserved, notify = notify, failed = failed, failed_jobs = failed_jobs,
  }
end

-- 1. A repeat is given the jobs with the recorded lease ends: these are its own, or are gone.
local known, unrecorded, refreshed_at = recall(client, sequence)
if known and known[1] == 'stale' then return known end
if known then
  local jobs, lease_ends, next_in, news = {}, unpack(known)
  for i = 1, #lease_ends, 2 do
    local place, lease_end = lease_ends[i], lease_ends[i + 1]
    local found = redis.pcall('ZRANGEBYSCORE', queues[place].reserved, lease_end, lease_end)
    jobs[#jobs + 1] = { place, unpack(found.err and {} or found) }
  end
  need('tell_cancelled')(news, cancelled, reasons, cancelled_batches, jobs)
  if #news > 0 then jobs[#jobs + 1] = news end
  return { 'exchanged', next_in, clock(), unpack(jobs) }
end

local moment = clock()
-- The state of the call.
local turn = {
  unique = unique, batches = batches, cancelled_batches = cancelled_batches, lanes = lanes, held = held,
  client_id = client_id, sequence = sequence,
  moment = moment, lease_end = moment + math.floor(lease * 1000000),
  -- The absolute distance: otherwise a clock that was set back would delay the next look by the length of the jump.
  is_early = limit > 0 and math.abs(moment - refreshed_at) < LATE,
  settles_nothing = not ARGV[FIRST_OUTCOME],
  limit = limit, taken = 0, moved = 0, bytes = MOST_BYTES, jobs = {}, lease_ends = {},
  news = unrecorded and { 'unrecorded', 1 } or {},
}

-- 2. Orders. Nearly always there are none, and one command shows that.
local any_cancelled = redis.pcall('EXISTS', control, cancelled, cancelled_batches) ~= 0
  and need('read_orders')(turn, control, cancelled, queues, sources)

-- 3. Settle.
local ended, outcomes, at, followers = {}, 0, FIRST_OUTCOME, nil
while ARGV[at] do
  local kind, queue, count = ARGV[at], queues[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
  local first, width, results = at + 3, 1, nil
  local whole, lane_place = kind, kind ~= 'completed' and find(kind, '+lane', 1, true)
  if lane_place then kind, width = sub(kind, 1, lane_place - 1), 2 end
  if kind == 'next' then
    followers, width = need('read_followers')(followers, queue, first, count, lane_place), 2
  else
    if kind ~= 'completed' or followers then
      local is_simple = not followers and find(kind, '^completed%+') and not find(kind, '+batch', 1, true)
      local settle = is_simple and need('end_completed') or need('settle')
      first, width, results = settle(turn, queue, whole, first, count, followers)
      followers = nil
    end
    for i = 1, count do
      local token_at = first + (i - 1) * width
      local token = ARGV[token_at]
      local removed = results and results[i] or redis.pcall('ZREM', queue.reserved, token)
      outcomes = outcomes + 1
      if removed ~= 1 then need('not_settled')(turn, outcomes, removed)
      elseif any_cancelled and kind ~= 'released' then ended[#ended + 1] = token end
      if lane_place and removed == 1 then
        local delay = kind == 'released' and ARGV[token_at + 3]
        if not delay or due_at(moment, delay) > moment then
          local left = queue.left or {}
          left[#left + 1], queue.left, turn.any_left = ARGV[token_at + width - 1], left, true
        end
      end
    end
  end
  at = first + count * width
end
for _, token in ipairs(ended) do need('unmark')(cancelled, reasons, need('id_of')(token) or '') end
if turn.any_left then
  for place = 1, #queues do try(need('fill'), turn, queues, place) end
end

-- 4. Reserve: empty one queue after the other, until the limit is reached. Two others are refreshed in rotation:
-- otherwise the delayed and lost jobs of a low queue would be forgotten while a higher one is never empty.
if not turn.unsettled then
  for place = 1, sources do
    if turn.taken == turn.limit then break end
    try(visit, turn, queues, place)
  end
  local others = 2
  for step = 0, turn.is_early and -1 or sources - 1 do
    local place = (2 * sequence + step) % sources + 1
    if others > 0 and not queues[place].refreshed and not queues[place].skipped then
      others = others - 1
      try(visit, turn, queues, place)
    end
  end
end
for place = 1, #queues do try(adjust_hints, turn, queues, place) end
local next_in = next_look(turn, queues, sources)

-- 5. The answer. If everything was refused, as by a replica, leave no record: another server may carry out the call.
if turn.unsettled or turn.skipped then
  local refusal = need('refusal_of_all')(turn, outcomes, sources)
  if refusal then return redis.error_reply(refusal) end
end
local news, jobs = turn.news, turn.jobs
if turn.lost or turn.unsettled or turn.skipped or turn.aside then need('tell_of')(turn) end
if turn.has_refreshed then refreshed_at = moment end
record(client, sequence, { turn.lease_ends, next_in, news }, refreshed_at, turn.is_early)
if any_cancelled or turn.any_batch_cancelled then
  need('tell_cancelled')(news, cancelled, reasons, cancelled_batches, jobs)
end
if #news > 0 then jobs[#jobs + 1] = news end
return { 'exchanged', next_in, moment, unpack(jobs) }
