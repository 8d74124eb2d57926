-- exchange.lua: settle what has ended, then reserve what comes next: the whole of a worker's traffic.
--
--   KEYS[1] client                   string  the recorded answer of this client
--   KEYS[2] control                  hash    restart -> token; paused:<key of ready> -> name, until:<…> -> its end (s)
--   KEYS[3] cancelled                zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[4] reasons                  hash    id of a cancelled job -> why
--   KEYS[6i-1] ready                 list    for each queue i: payloads ready to run
--   KEYS[6i] delayed                 zset    for each queue i: payload -> due time (s)
--   KEYS[6i+1] reserved              zset    for each queue i: payload -> lease end (s)
--   KEYS[6i+2] notify                list    for each queue i: wake-up hints
--   KEYS[6i+3] failed                zset    for each queue i: id -> when it failed (s)
--   KEYS[6i+4] failed_jobs           hash    for each queue i: id -> meta line, payload
--   ARGV[1] offset                   number  see prelude.lua
--   ARGV[2] sequence                 number  see prelude.lua
--   ARGV[3] client_id                string  what ids that we give start with
--   ARGV[4] lease                    number  seconds until a silent holder loses its job
--   ARGV[5] limit                    number  reservations wanted; 0: none, only settle and refresh
--   ARGV[6] sources                  number  reserve from the first so many queues, in their order, or refresh them
--   ARGV[7..] outcomes               groups of: kind, queue, count, then for each of `count` outcomes
--                                    completed (and cancelled): token; released: token, keep, tail, delay (or '@' and
--                                    the moment; or 'front': to the head, each before the one before it);
--                                    failed: token, keep, tail, id, meta
--
--   A token is the reservation's exact text: it fences. Its first `keep` bytes and `tail` go on, and none is encoded.
--
--   returns  {'exchanged', lost, jobs, aside, next_in, news, now} | {'stale'}  ('stale' writes nothing)
--            lost: places (from 1) of outcomes whose reservation is no longer there: nothing was written for them;
--            jobs: for each queue that gave some, {queue, text, ...}; aside: {queue, id, reason, ...} of what is no
--            JSON object and went to failed; next_in: seconds until another look is worth while, '0' now, 'never';
--            now: the time (s); news: words, each with what belongs to it: restart, token; paused, places of queues;
--            cancelled, places of jobs, each with why; unrecorded, 1 (no call of this client is on record); foreign,
--            places of queues with a key of another type (0: the orders), where nothing moved from then on; unwritable,
--            places of outcomes for there; refused, {words, places}: what Redis said, and outcomes to settle again
--   keeps    I1 I2 I3 I4 I5 I6 I7 I9 I10
--   cost     O(log n) for each job moved; at most 100 jobs or 1 MiB of text for each of promote, reclaim and reserve

local client, control, cancelled, reasons = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sequence, client_id = tonumber(ARGV[2]), ARGV[3]
local lease, limit, sources = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
-- TROUBLED_LOOK: seconds until a queue that Redis has refused is looked at again. Laravel leaves a hint a job. LATE:
-- microseconds for which a client that is given all it wants does not ask what is due.
local FIRST_OUTCOME, TROUBLED_LOOK, MOST_HINTS, LATE = 7, 1, 1000, 20000

local queues = {}
for first = 5, #KEYS, 6 do
  local ready, delayed, reserved, notify, failed, failed_jobs = unpack(KEYS, first, first + 5)
  queues[#queues + 1] = {
    ready = ready, delayed = delayed, reserved = reserved, notify = notify, failed = failed, failed_jobs = failed_jobs,
  }
end

-- Does a step, which may be refused without harm to the others: each one reads, asks whether it may remove, writes what
-- is new, and removes last. Nothing: it was done.
local refused
local function trouble_with(step, queue, ...)
  local done, problem = pcall(step, queue, ...)
  if done then return nil end
  local words = type(problem) == 'table' and problem.err or tostring(problem)
  if find(words, 'WRONGTYPE', 1, true) then
    queue.foreign = true
    return 'foreign'
  end
  refused = refused or words
  return 'refused'
end

-- A repeat is given the jobs that bear the recorded score: they are still its own, or they are not there any more.
local known, unrecorded, refreshed_at = recall(client, sequence)
if known then
  local jobs = {}
  for i = 1, #(known[3] or {}), 2 do
    local place, lease_end = known[3][i], known[3][i + 1]
    local found = redis.pcall('ZRANGEBYSCORE', queues[place].reserved, lease_end, lease_end)
    jobs[#jobs + 1] = { place, unpack(found.err and {} or found) }
  end
  if known[3] then
    known[3] = jobs
    local news, places = known[6], texts().cancelled_among(cancelled, reasons, jobs, 2)
    if #places > 0 then news[#news + 1], news[#news + 2] = 'cancelled', places end
  end
  known[7] = score(clock())
  return known
end

local moment = clock()
local now = score(moment)
local given, aside, is_early = 0, {}, limit > 0 and moment < refreshed_at + LATE

local function give_id()
  given = given + 1
  return format('%s-%d-%d', client_id, sequence, given)
end

local function set_aside(queue, place, text)
  -- As in src/payload/unreadable.ts.
  local why = 'E_INVALID_PAYLOAD: The payload is not a JSON object that can be read; it was kept as it came. '
    .. 'docs/format.md says what a payload looks like.'
  local id, meta = give_id(), '{"name":"(unreadable)","exception":"' .. why .. '"}'
  check_failed(queue.failed, queue.failed_jobs)
  keep_failed(queue.failed, queue.failed_jobs, id, moment, meta, text)
  aside[#aside + 1], aside[#aside + 2], aside[#aside + 3] = place, id, why
end

-- 1. Orders. -----------------------------------------------------------------------------------------------------

local news, any_cancelled = unrecorded and { 'unrecorded', 1 } or {}, false
-- What is said of no queue. Orders that cannot be read may be to take nothing: then only what has ended is settled.
local all_queues = {}
-- One look where there is nothing to see, as nearly always.
local is_blind = redis.pcall('EXISTS', control, cancelled) ~= 0 and trouble_with(function()
  any_cancelled = call('ZCARD', cancelled) > 0
  if limit == 0 then return end
  local fields = { 'restart' }
  for place = 1, sources do fields[place + 1] = 'paused:' .. queues[place].ready end
  local values, paused = call('HMGET', control, unpack(fields)), {}
  for place = 1, sources do
    queues[place].paused, queues[place].resumes = is_paused(values[place + 1], control, queues[place].ready, moment)
    if queues[place].paused then paused[#paused + 1] = place end
  end
  if values[1] then news[#news + 1], news[#news + 2] = 'restart', values[1] end
  if #paused > 0 then news[#news + 1], news[#news + 2] = 'paused', paused end
end, all_queues) ~= nil
if is_blind then limit = 0 end

-- 2. Settle. -----------------------------------------------------------------------------------------------------

local lost, unwritten, unwritable, ended = {}, {}, {}, {}

-- For one that is released or has failed. What goes on is written before its reservation goes.
local function mover(kind)
  local function release(queue, token, at)
    local text, is_front = sub(token, 1, tonumber(ARGV[at + 1])) .. ARGV[at + 2], ARGV[at + 3] == 'front'
    local moment_due = is_front and moment or due_at(moment, ARGV[at + 3])
    if moment_due <= moment then
      call(is_front and 'LPUSH' or 'RPUSH', queue.ready, text)
      queue.filled = true
      return
    end
    local due = score(moment_due)
    queue.first_due = queue.first_due or call('ZCOUNT', queue.delayed, '-inf', '(' .. due) == 0
    -- A twin that waits with the very same text would swallow this one: it goes on under an id of its own.
    if call('ZADD', queue.delayed, 'NX', due, text) == 0 then
      call('ZADD', queue.delayed, due, texts().with_id(text, give_id()))
    end
  end

  local function fail(queue, token, at)
    local keep, tail, id, meta = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    check_failed(queue.failed, queue.failed_jobs)
    -- Another job of the same id, which was kept before, stays.
    if call('ZSCORE', queue.failed, id) then id = give_id() end
    keep_failed(queue.failed, queue.failed_jobs, id, moment, meta, sub(token, 1, keep) .. tail)
  end

  return function(queue, place, at)
    local token = ARGV[at]
    ask_to_remove(queue.reserved)
    if not call('ZSCORE', queue.reserved, token) then
      lost[#lost + 1] = place
      return
    end
    if kind == 'failed' then fail(queue, token, at) else release(queue, token, at) end
    call('ZREM', queue.reserved, token)
    if kind == 'failed' then ended[#ended + 1] = token end
  end
end

local function complete(queue, place, at, count)
  local there = count > 1 and call('ZMSCORE', queue.reserved, unpack(ARGV, at, at + count - 1))
  local all = call('ZREM', queue.reserved, unpack(ARGV, at, at + count - 1)) == count
  if all and not any_cancelled then return end
  local met = {}
  for i = 1, count do
    local token = ARGV[at + i - 1]
    local was_there = all or (there and there[i] and not met[token])
    if was_there then ended[#ended + 1] = token else lost[#lost + 1] = place + i - 1 end
    met[token] = true
  end
end

local WIDTH, place, at = { completed = 1, released = 4, failed = 5 }, 1, FIRST_OUTCOME
while ARGV[at] do
  local kind, queue, count = ARGV[at], queues[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
  local together = kind == 'completed' and count or 1
  local step = kind == 'completed' and complete or mover(kind)
  at = at + 3
  for _ = 1, count, together do
    local trouble = trouble_with(step, queue, place, at, count)
    local places = trouble == 'foreign' and unwritable or unwritten
    for i = place, trouble and place + together - 1 or 0 do places[#places + 1] = i end
    place, at = place + together, at + together * WIDTH[kind]
  end
end
for i = 1, any_cancelled and #ended or 0 do texts().unmark(cancelled, reasons, texts().id_of(ended[i]) or '') end

-- 3. Promote and reclaim. ----------------------------------------------------------------------------------------

local promotions, reclaims
local function refresh(queue, place)
  queue.refreshed, promotions, reclaims = true, promotions or new_budget(), reclaims or new_budget()
  -- Due jobs go to the tail of the ready list, in the order in which they came due.
  if call('ZCOUNT', queue.delayed, '-inf', now) > 0 then
    ask_to_remove(queue.delayed)
    repeat
      local page = call('ZRANGEBYSCORE', queue.delayed, '-inf', now, 'LIMIT', 0, PAGE)
      local count = 0
      while page[count + 1] and charge(promotions, page[count + 1]) do count = count + 1 end
      if count > 0 then
        call('RPUSH', queue.ready, unpack(page, 1, count))
        queue.filled = true
        call('ZREM', queue.delayed, unpack(page, 1, count))
      end
    until count < PAGE
  end
  -- Jobs whose lease ran out go to the head, before all that waits, in the order in which they were lost.
  if call('ZCOUNT', queue.reserved, '-inf', now) == 0 then return end
  ask_to_remove(queue.reserved)
  local gone, back, unreadable, seen, fits = {}, {}, {}, 0, true
  repeat
    local page = call('ZRANGEBYSCORE', queue.reserved, '-inf', now, 'LIMIT', seen, PAGE)
    for _, text in ipairs(page) do
      fits = charge(reclaims, text)
      if not fits then break end
      seen = seen + 1
      local reclaimed = texts().reclaimed_text(text)
      if reclaimed then
        gone[#gone + 1] = text
        table.insert(back, 1, reclaimed)
      else
        unreadable[#unreadable + 1] = text
      end
    end
  until not fits or #page < PAGE
  if #back > 0 then
    call('LPUSH', queue.ready, unpack(back))
    queue.filled = true
    call('ZREM', queue.reserved, unpack(gone))
  end
  for _, text in ipairs(unreadable) do
    set_aside(queue, place, text)
    call('ZREM', queue.reserved, text)
  end
end

-- 4. Reserve. ----------------------------------------------------------------------------------------------------

local lease_ends, jobs, taken, moved = {}, {}, 0, new_budget()
-- The text of the reservation: one attempt more, and an id where it has none. Nothing: it is not a JSON object.
local function reserved_text(text)
  local start, _, tries = find(text, '^,"id":"[%w-]+","attempts":(%d)}$', -OUR_TAIL)
  if start and byte(text, 1) == OPENING then
    return sub(text, 1, -3) .. (tries + 1) .. '}'
  end
  local body_end, attempts, crashes, exceptions, timeouts, releases, fields = texts().read_counters(text)
  if not body_end then return nil end
  local body = sub(text, 1, body_end)
  if not texts().last_id(text, body_end) then
    fields = fields or texts().fields_of(text)
    if not fields then return nil end
    if type(fields.id) ~= 'string' or fields.id == '' then body = texts().join(body, '"id":"' .. give_id() .. '"') end
  end
  return texts().join(body, texts().counters(attempts + 1, crashes, exceptions, timeouts, releases))
end

-- The first of the ready jobs, which have these texts from here on.
local function hand_out(queue, place, found)
  if #found == 0 then return end
  local lease_end = free_score(queue.reserved, moment + math.floor(lease * 1000000))
  local members = {}
  for i, text in ipairs(found) do members[2 * i - 1], members[2 * i] = lease_end, text end
  local added = call('ZADD', queue.reserved, 'NX', unpack(members))
  local ours = added < #found and {}
  -- The same text twice, of two jobs that were pushed alike: the later one is given an id of its own.
  for i = 1, ours and #found or 0 do
    local text = found[i]
    if ours[text] or tonumber(call('ZSCORE', queue.reserved, text)) ~= tonumber(lease_end) then
      found[i] = texts().with_id(text, give_id())
      call('ZADD', queue.reserved, lease_end, found[i])
    end
    ours[found[i]] = true
  end
  local gone = redis.pcall('LPOP', queue.ready, #found)
  if gone and gone.err then
    call('ZREM', queue.reserved, unpack(found))
    error(gone)
  end
  taken = taken + #found
  lease_ends[#lease_ends + 1], lease_ends[#lease_ends + 2] = place, lease_end
  jobs[#jobs + 1] = { place, unpack(found) }
end

local function reserve(queue, place)
  -- Removes nothing, but a server that is full lets a script add only after such a command.
  if not ARGV[FIRST_OUTCOME] then call('LPOP', queue.ready, 0) end
  -- A page of long texts would be read for nothing: the first says how many may fit.
  local found, fitting, full = {}, 1, false
  repeat
    local wanted = math.min(PAGE, limit - taken - #found, fitting)
    local page = call('LRANGE', queue.ready, #found, #found + wanted - 1)
    for _, text in ipairs(page) do
      full = not charge(moved, text)
      if full then break end
      local reservation = reserved_text(text)
      if reservation then
        found[#found + 1] = reservation
      else
        hand_out(queue, place, found)
        found = {}
        full = trouble_with(set_aside, queue, place, text) ~= nil
        if full then break end
        call('LPOP', queue.ready, 1)
      end
    end
    if page[1] then fitting = math.max(math.floor(moved.bytes / #page[#page]), 1) end
  until full or #page < wanted or taken + #found == limit
  hand_out(queue, place, found)
end

-- A queue after the other is emptied, until the limit is reached. Two others are refreshed in rotation, so that the
-- delayed and the lost jobs of a low queue are not forgotten while a higher one is never empty.
local function visit(queue, place)
  queue.visited = not queue.paused and taken < limit
  if queue.visited and is_early then reserve(queue, place) end
  if queue.visited and is_early and taken == limit then return end
  is_early = false
  refresh(queue, place)
  if queue.visited then reserve(queue, place) end
end

for place = 1, sources do
  if taken == limit then break end
  trouble_with(visit, queues[place], place)
end
local others = 2
for step = 0, is_early and -1 or sources - 1 do
  local place = (2 * sequence + step) % sources + 1
  if others > 0 and not queues[place].refreshed then
    others = others - 1
    trouble_with(visit, queues[place], place)
  end
end

-- 5. Hints, and when to look again. ------------------------------------------------------------------------------

-- A caller that got all it may have, or does not look at a queue, will not look at what comes due there: then somebody
-- else must learn of it.
local satisfied, left = taken == limit, false
local function hint(queue, place)
  local exist = call('EXISTS', queue.ready, queue.notify)
  local any = exist == 2 or (exist == 1 and call('EXISTS', queue.ready) == 1)
  left = left or (any and place <= sources)
  if exist == 2 then return end
  if any or (queue.first_due and (satisfied or not queue.visited)) then
    leave_hint(queue.notify)
  elseif exist == 1 then
    -- Not DEL, which would take along what is not ours.
    call('LPOP', queue.notify, MOST_HINTS)
  end
end

for place, queue in ipairs(queues) do
  local changed = queue.visited or queue.filled or queue.first_due
  -- A hint on a queue that gives nothing would wake those who wait, again and again; `resume` leaves one.
  if changed and not queue.paused and not queue.foreign then trouble_with(hint, queue, place) end
end

local first = is_blind and moment / 1000000 + TROUBLED_LOOK or math.huge
for place = 1, (left or limit == 0) and 0 or sources do
  local queue = queues[place]
  if queue.resumes then first = math.min(first, queue.resumes / 1000000) end
  local trouble = queue.foreign or (not queue.paused and trouble_with(function()
    if not queue.visited and call('EXISTS', queue.ready) == 1 then left = true end
    local due = call('ZRANGE', queue.delayed, 0, 0, 'WITHSCORES')[2]
    local over = call('ZRANGE', queue.reserved, 0, 0, 'WITHSCORES')[2]
    first = math.min(first, tonumber(due or math.huge), tonumber(over or math.huge))
  end, queue))
  if trouble and not queue.paused then first = math.min(first, moment / 1000000 + TROUBLED_LOOK) end
end
local next_in = first == math.huge and 'never' or format('%.6f', math.max(first - moment / 1000000, 0))
if left and limit > 0 then next_in = '0' end

-- 6. The answer. -------------------------------------------------------------------------------------------------
-- Refused as a whole, as by a replica: without a record, the call may be repeated on the server that takes it.
if refused and #jobs + #aside + place - 1 == #unwritten + #unwritable then return redis.error_reply(refused) end
local foreign = { all_queues.foreign and 0 or nil }
for place, queue in ipairs(queues) do
  if queue.foreign then foreign[#foreign + 1] = place end
end
if #foreign > 0 then news[#news + 1], news[#news + 2] = 'foreign', foreign end
if #unwritable > 0 then news[#news + 1], news[#news + 2] = 'unwritable', unwritable end
if refused then news[#news + 1], news[#news + 2] = 'refused', { refused, unpack(unwritten) } end
local answer = { 'exchanged', lost, lease_ends, aside, next_in, news }
record(client, sequence, answer, is_early and refreshed_at or moment)
-- After the record: what is cancelled before a repeat is told to it as well.
if any_cancelled then
  local told, places = pcall(texts().cancelled_among, cancelled, reasons, jobs, 2)
  if told and #places > 0 then news[#news + 1], news[#news + 2] = 'cancelled', places end
end
return { 'exchanged', lost, jobs, aside, next_in, news, now }
