-- exchange.lua: settle what has ended, then reserve what comes next: the whole of a worker's traffic.
--
--   KEYS[1] client                   string  the recorded answer of this client
--   KEYS[2] control                  hash    restart -> token; paused:<key of ready> -> name of the queue
--   KEYS[3] cancelled                zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[6i-2] ready                 list    for each queue i: payloads ready to run
--   KEYS[6i-1] delayed               zset    for each queue i: payload -> due time (s)
--   KEYS[6i] reserved                zset    for each queue i: payload -> lease end (s)
--   KEYS[6i+1] notify                list    for each queue i: wake-up hints
--   KEYS[6i+2] failed                zset    for each queue i: id -> when it failed (s)
--   KEYS[6i+3] failed_jobs           hash    for each queue i: id -> meta line, payload
--   ARGV[1] offset                   number  see prelude.lua
--   ARGV[2] sequence                 number  see prelude.lua
--   ARGV[3] client_id                string  what ids that we give start with
--   ARGV[4] lease                    number  seconds until a silent holder loses its job
--   ARGV[5] limit                    number  reservations wanted; 0: none, only settle and refresh
--   ARGV[6] sources                  number  reserve from the first so many queues, in their order, or refresh them
--   ARGV[7..] outcomes               groups of: kind, queue, count, then for each of `count` outcomes
--                                    completed (and cancelled): token; released: token, keep, tail, delay (or '@' and
--                                    the moment);
--                                    failed: token, keep, tail, id, meta
--
--   A token is the reservation's exact text: the fencing token. The text that goes on is its first `keep` bytes and
--   `tail`, so that no byte of a user's data passes an encoder.
--
--   returns  {'exchanged', lost, jobs, aside, next_in, news, now} | {'stale'}  ('stale' writes nothing)
--            lost: places (from 1) of outcomes whose reservation is no longer there: nothing was written for them;
--            jobs: for each queue that gave some, {queue, text, ...}; aside: {queue, id, reason, ...} of what is no
--            JSON object and went to failed; next_in: seconds until another look is worth while, '0' now, 'never';
--            now: the time (s);
--            news: words, each with what belongs to it: restart, token; paused, places of queues; cancelled, places of
--            jobs; unrecorded, 1 (there is no record of an earlier call of this client); foreign, places of queues with
--            a key of another type: from where it was met nothing was moved there, and outcomes that could not be
--            written are among `lost`
--   keeps    I1 I2 I3 I4 I5 I6 I7 I9 I10
--   cost     O(log n) for each job moved; at most 100 jobs or 1 MiB of text for each of promote, reclaim and reserve

local client, control, cancelled = KEYS[1], KEYS[2], KEYS[3]
local sequence, client_id = tonumber(ARGV[2]), ARGV[3]
local lease, limit, sources = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
-- FOREIGN_LOOK: seconds until a queue with a key of another type is looked at again. Laravel leaves a hint a job.
local FIRST_OUTCOME, FOREIGN_LOOK, MOST_HINTS = 7, 1, 1000

local queues = {}
for first = 4, #KEYS, 6 do
  local ready, delayed, reserved, notify, failed, failed_jobs = unpack(KEYS, first, first + 5)
  queues[#queues + 1] = {
    ready = ready, delayed = delayed, reserved = reserved, notify = notify, failed = failed, failed_jobs = failed_jobs,
  }
end

-- What Redis answers; nothing: a key of this queue is of another type. An error would end the call, and as Redis does
-- not roll back, what other queues gave before would be with nobody. So of each queue all is asked that is written to
-- later, before anything is moved. Whatever else Redis refuses, it refuses at the first write of a call.
local function ask(queue, ...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if not find(answer.err, 'WRONGTYPE', 1, true) then return call(...) end
  queue.foreign = true
end

local function keeps_failed(queue)
  return ask(queue, 'ZCARD', queue.failed) and ask(queue, 'HGET', queue.failed_jobs, '') ~= nil
end

-- A repeat is given the jobs that bear the recorded score: they are still its own, or they are not there any more.
local known, unrecorded = recall(client, sequence)
if known then
  local jobs = {}
  for i = 1, #(known[3] or {}), 2 do
    local place, lease_end = known[3][i], known[3][i + 1]
    local queue = queues[place]
    jobs[#jobs + 1] = { place, unpack(ask(queue, 'ZRANGEBYSCORE', queue.reserved, lease_end, lease_end) or {}) }
  end
  if known[3] then
    known[3] = jobs
    local news, places = known[6], cancelled_among(cancelled, jobs, 2)
    if #places > 0 then news[#news + 1], news[#news + 2] = 'cancelled', places end
  end
  known[7] = score(clock())
  return known
end

local moment = clock()
local now = score(moment)
local given = 0
local aside = {}

local function give_id()
  given = given + 1
  return format('%s-%d-%d', client_id, sequence, given)
end

-- As in src/payload/unreadable.ts.
local NOT_AN_OBJECT = 'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. '
  .. 'docs/format.md says what a payload looks like.'
local function set_aside(place, queue, text)
  local id = give_id()
  local meta = '{"name":"(unreadable)","exception":"' .. NOT_AN_OBJECT .. '"}'
  keep_failed(queue.failed, queue.failed_jobs, id, moment, meta, text)
  aside[#aside + 1], aside[#aside + 2], aside[#aside + 3] = place, id, NOT_AN_OBJECT
end

-- 1. Orders. -----------------------------------------------------------------------------------------------------

local news = {}
if unrecorded then news = { 'unrecorded', 1 } end

-- One look where there is nothing to see, as nearly always.
local orders = call('EXISTS', control, cancelled)
local any_cancelled = orders == 2 or (orders == 1 and call('EXISTS', cancelled) == 1)
if any_cancelled then call('ZCARD', cancelled) end
if orders > 0 and limit > 0 then
  local fields = { 'restart' }
  for place = 1, sources do fields[place + 1] = 'paused:' .. queues[place].ready end
  local values = call('HMGET', control, unpack(fields))
  local paused = {}
  for place = 1, sources do
    queues[place].paused = values[place + 1] ~= false
    if queues[place].paused then paused[#paused + 1] = place end
  end
  if values[1] then news[#news + 1], news[#news + 2] = 'restart', values[1] end
  if #paused > 0 then news[#news + 1], news[#news + 2] = 'paused', paused end
end

-- 2. Settle. -----------------------------------------------------------------------------------------------------

local function release(queue, token, at)
  local keep, tail, moment_due = tonumber(ARGV[at + 1]), ARGV[at + 2], due_at(moment, ARGV[at + 3])
  local text = sub(token, 1, keep) .. tail
  if moment_due <= moment then
    call('RPUSH', queue.ready, text)
    queue.filled = true
    return
  end
  local due = score(moment_due)
  -- A twin that waits with the very same text would swallow this one: it goes on under an id of its own.
  if call('ZADD', queue.delayed, 'NX', due, text) == 0 then
    call('ZADD', queue.delayed, due, sub(token, 1, keep) .. ',"id":"' .. give_id() .. '"' .. tail)
  end
  if call('ZCOUNT', queue.delayed, '-inf', '(' .. due) == 0 then queue.first_due = true end
end

local function fail(queue, token, at)
  local keep, tail, id, meta = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  -- Another job of the same id, which was kept before, stays.
  if call('HGET', queue.failed_jobs, id) then id = give_id() end
  keep_failed(queue.failed, queue.failed_jobs, id, moment, meta, sub(token, 1, keep) .. tail)
end

-- Whether outcomes of a kind can be written. Those that cannot stay reserved.
local function takes(kind, queue)
  if not ask(queue, 'ZCARD', queue.reserved) then return false end
  if kind == 'released' then return ask(queue, 'LLEN', queue.ready) and ask(queue, 'ZCARD', queue.delayed) end
  return kind == 'completed' or keeps_failed(queue)
end

local WIDTH = { completed = 1, released = 4, failed = 5 }
local lost, place, at, ended = {}, 0, FIRST_OUTCOME, {}
while ARGV[at] do
  local kind, queue, count = ARGV[at], queues[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
  local writable = takes(kind, queue)
  at = at + 3
  for _ = 1, count do
    place = place + 1
    local token = ARGV[at]
    if not writable or call('ZREM', queue.reserved, token) == 0 then
      lost[#lost + 1] = place
    elseif kind == 'released' then
      release(queue, token, at)
    elseif kind == 'failed' then
      fail(queue, token, at)
    end
    if any_cancelled and lost[#lost] ~= place and kind ~= 'released' then ended[#ended + 1] = id_of(token) end
    at = at + WIDTH[kind]
  end
end
-- What was said of a job that has ended is not meant for a later one of its id.
if #ended > 0 then call('ZREM', cancelled, unpack(ended)) end

-- 3. Promote and reclaim. ----------------------------------------------------------------------------------------

-- Due jobs go to the tail of the ready list, in the order in which they came due. Removed before they are added: a
-- server that is full refuses additions until a script has written something.
local function promote(queue, budget)
  local due = ask(queue, 'ZCOUNT', queue.delayed, '-inf', now)
  if not due or due == 0 or not ask(queue, 'LLEN', queue.ready) then return end
  repeat
    local page = call('ZRANGEBYSCORE', queue.delayed, '-inf', now, 'LIMIT', 0, PAGE)
    local count = 0
    while page[count + 1] and charge(budget, page[count + 1]) do count = count + 1 end
    if count > 0 then
      call('ZREMRANGEBYRANK', queue.delayed, 0, count - 1)
      call('RPUSH', queue.ready, unpack(page, 1, count))
      queue.filled = true
    end
  until count < PAGE
end

-- Jobs whose lease ran out go to the head, before all that waits, in the order in which they were lost. The attempt
-- is taken back and counted as a crash.
local function reclaim(place, queue, budget)
  local over = ask(queue, 'ZCOUNT', queue.reserved, '-inf', now)
  if not over or over == 0 or not (ask(queue, 'LLEN', queue.ready) and keeps_failed(queue)) then return end
  local texts, unreadable = {}, {}
  repeat
    local page = call('ZRANGEBYSCORE', queue.reserved, '-inf', now, 'LIMIT', 0, PAGE)
    local count = 0
    while page[count + 1] and charge(budget, page[count + 1]) do
      count = count + 1
      local text = page[count]
      local body_end, attempts, crashes, exceptions, timeouts, releases = read_counters(text)
      if body_end then
        local tail = counters(math.max(attempts - 1, 0), crashes + 1, exceptions, timeouts, releases)
        texts[#texts + 1] = join(sub(text, 1, body_end), tail)
      else
        unreadable[#unreadable + 1] = text
      end
    end
    if count > 0 then call('ZREMRANGEBYRANK', queue.reserved, 0, count - 1) end
  until count < PAGE
  for _, text in ipairs(unreadable) do set_aside(place, queue, text) end
  if #texts == 0 then return end
  local last_first = {}
  for i = #texts, 1, -1 do last_first[#last_first + 1] = texts[i] end
  call('LPUSH', queue.ready, unpack(last_first))
  queue.filled = true
end

-- 4. Reserve. ----------------------------------------------------------------------------------------------------

local lease_ends, jobs, taken, moved = {}, {}, 0, new_budget()

-- The text of the reservation: one attempt more, and an id where it has none. Nothing: it is not a JSON object.
local function reserved_text(text)
  local start, _, tries = find(text, '^,"id":"[%w-]+","attempts":(%d)}$', -OUR_TAIL)
  if start and byte(text, 1) == OPENING then
    return sub(text, 1, -3) .. (tries + 1) .. '}'
  end
  local body_end, attempts, crashes, exceptions, timeouts, releases, fields = read_counters(text)
  if not body_end then return nil end
  local body = sub(text, 1, body_end)
  if not last_id(text, body_end) then
    if not fields then
      local well_formed
      well_formed, fields = pcall(cjson.decode, text)
      if not well_formed then return nil end
    end
    if type(fields.id) ~= 'string' or fields.id == '' then body = join(body, '"id":"' .. give_id() .. '"') end
  end
  return join(body, counters(attempts + 1, crashes, exceptions, timeouts, releases))
end

-- The same text twice, of two jobs that were pushed alike: the later one is given an id of its own.
local function reserve_twins(queue, lease_end, texts)
  local ours = {}
  for i, text in ipairs(texts) do
    if ours[text] or tonumber(call('ZSCORE', queue.reserved, text)) ~= tonumber(lease_end) then
      local body_end, attempts, crashes, exceptions, timeouts, releases = read_counters(text)
      local body = join(sub(text, 1, body_end), '"id":"' .. give_id() .. '"')
      text = join(body, counters(attempts, crashes, exceptions, timeouts, releases))
      call('ZADD', queue.reserved, lease_end, text)
      texts[i] = text
    end
    ours[text] = true
  end
end

-- After `reclaim`, which has asked for `reserved`.
local function reserve(place, queue)
  local texts, unreadable, full = {}, {}, false
  -- What does not fit has to be put back, and a page of long texts would be nothing else: the first says how many may.
  local fitting = 1
  repeat
    local wanted = math.min(PAGE, limit - taken - #texts, fitting)
    local page = ask(queue, 'LPOP', queue.ready, wanted) or {}
    for i, text in ipairs(page) do
      local reservation = reserved_text(text)
      full = not (reservation or keeps_failed(queue)) or not charge(moved, text)
      if full then
        for back = #page, i, -1 do call('LPUSH', queue.ready, page[back]) end
        break
      end
      if reservation then texts[#texts + 1] = reservation else unreadable[#unreadable + 1] = text end
    end
    if page[1] then fitting = math.max(math.floor(moved.bytes / #page[#page]), 1) end
  until full or #page < wanted or taken + #texts == limit
  for _, text in ipairs(unreadable) do set_aside(place, queue, text) end
  if #texts == 0 then return end
  local lease_end = free_score(queue.reserved, moment + math.floor(lease * 1000000))
  local members = {}
  for i, text in ipairs(texts) do members[2 * i - 1], members[2 * i] = lease_end, text end
  if call('ZADD', queue.reserved, 'NX', unpack(members)) < #texts then reserve_twins(queue, lease_end, texts) end
  taken = taken + #texts
  lease_ends[#lease_ends + 1], lease_ends[#lease_ends + 2] = place, lease_end
  jobs[#jobs + 1] = { place, unpack(texts) }
end

-- A queue after the other is emptied, until the limit is reached. Two others are refreshed in rotation, so that the
-- delayed and the lost jobs of a low queue are not forgotten while a higher one is never empty.
if sources > 0 then
  local promoted, reclaimed = new_budget(), new_budget()
  local function refresh(place)
    local queue = queues[place]
    queue.refreshed = true
    promote(queue, promoted)
    reclaim(place, queue, reclaimed)
  end
  for place = 1, sources do
    if taken == limit then break end
    refresh(place)
    if not queues[place].paused and not queues[place].foreign then
      reserve(place, queues[place])
      queues[place].visited = true
    end
  end
  local others = 0
  for step = 0, sources - 1 do
    local place = (2 * sequence + step) % sources + 1
    if others < 2 and not queues[place].refreshed then
      others = others + 1
      refresh(place)
    end
  end
end

-- 5. Hints, and when to look again. ------------------------------------------------------------------------------

-- A caller that got all it may have, or does not look at a queue, will not look at what comes due there: then somebody
-- else must learn of it.
local satisfied = taken == limit
local function hint(queue)
  local exist = call('EXISTS', queue.ready, queue.notify)
  if exist == 2 then return true end
  local left = exist == 1 and call('EXISTS', queue.ready) == 1
  if left or (queue.first_due and (satisfied or not queue.visited)) then
    if ask(queue, 'LLEN', queue.notify) == 0 then call('RPUSH', queue.notify, '1') end
  elseif exist == 1 then
    -- Not DEL, which would take along what is not ours.
    ask(queue, 'LPOP', queue.notify, MOST_HINTS)
  end
  return left
end

local left = false
for place, queue in ipairs(queues) do
  local changed = queue.visited or queue.filled or queue.first_due
  -- A hint on a queue that gives nothing would wake those who wait, again and again; `resume` leaves one.
  if changed and not queue.paused and not queue.foreign then left = hint(queue) and place <= sources or left end
end

local function first_score(queue, key)
  local first = ask(queue, 'ZRANGE', key, 0, 0, 'WITHSCORES')
  return first and tonumber(first[2] or math.huge)
end

local function next_look()
  if left then return '0' end
  for place = 1, sources do
    local queue = queues[place]
    local looked = queue.visited or queue.paused or queue.foreign
    if not looked and call('EXISTS', queue.ready) == 1 then return '0' end
  end
  local first = math.huge
  for place = 1, sources do
    local queue = queues[place]
    if not queue.paused then
      local due, over = first_score(queue, queue.delayed), first_score(queue, queue.reserved)
      first = math.min(first, queue.foreign and moment / 1000000 + FOREIGN_LOOK or math.min(due, over))
    end
  end
  if first == math.huge then return 'never' end
  return format('%.6f', math.max(first - moment / 1000000, 0))
end

local next_in = limit > 0 and next_look() or 'never'
local foreign = {}
for place, queue in ipairs(queues) do
  if queue.foreign then foreign[#foreign + 1] = place end
end
if #foreign > 0 then news[#news + 1], news[#news + 2] = 'foreign', foreign end
record(client, sequence, { 'exchanged', lost, lease_ends, aside, next_in, news })
-- After the record: what is cancelled before a repeat is told to it as well.
if any_cancelled then
  local places = cancelled_among(cancelled, jobs, 2)
  if #places > 0 then news[#news + 1], news[#news + 2] = 'cancelled', places end
end
return { 'exchanged', lost, jobs, aside, next_in, news, now }
