-- cancel.lua: take a job out of a queue, or mark it as cancelled, so that who holds or meets it ends it.
--
--   parts    texts marks budget search
--
--   KEYS[1] client      string  the recorded answer of this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] reserved    zset    payload -> lease end (s)
--   KEYS[5] cancelled   zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[6] reasons     hash    id of a cancelled job -> why
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] id          string
--   ARGV[4] resort      string  'mark': what is not found where not all was looked at is marked; 'leave': it is not
--   ARGV[5] reason      string  why it is cancelled; '': nobody said
--
--   returns  {'removed'}    it waited, and is gone
--            {'signalled'}  it is reserved, and marked
--            {'marked'}     it was not found; not all was looked at
--            {'unseen'}     the same, and nothing was marked
--            {'unknown'}    it is not in this queue
--            {'stale'}      (writes nothing)
--   keeps    I1 I7 I9
--   cost     O(1) in the length of the queue: of each list the first 100 jobs or 1 MiB of text are looked at, of ready
--            jobs also the last; at most 100 marks whose time is over are dropped
--
--   Only a removal is recorded: whatever else it answers, a repeat finds the same and writes the same.

local client, ready, delayed, reserved, cancelled, reasons = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local sequence, id, resort, reason = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
-- Seconds for which a mark is kept: longer than a job waits between its attempts.
local LASTING = 30 * 24 * 3600

local known = recall(client, sequence)
if known then return known end

local moment = clock()

-- Nearly every text is passed over unread: it does not hold the id, nor, where an encoder might write that in another
-- way, an escape.
local plain = find(id, '^[%w_-]+$')
local function is_meant(text)
  return (find(text, id, 1, true) or (not plain and find(text, '\\', 1, true))) and id_of(text) == id
end

local function sorted(key)
  return function(start) return call('ZRANGE', key, start, start + PAGE - 1) end
end

local function head(start)
  return call('LRANGE', ready, start, start + PAGE - 1)
end

-- The last jobs, the very last first; not those of the head, which were looked at.
local function tail_behind(head_seen, length)
  return function(start)
    local page = call('LRANGE', ready, math.max(length - start - PAGE, head_seen), length - start - 1)
    local last_first = {}
    for i = #page, 1, -1 do last_first[#last_first + 1] = page[i] end
    return last_first
  end
end

local function mark()
  local latest = tonumber(call('ZRANGE', delayed, -1, -1, 'WITHSCORES')[2] or 0)
  -- Before the mark, which must not be met without it.
  if reason == '' then call('HDEL', reasons, id) else call('HSET', reasons, id, reason) end
  call('ZADD', cancelled, format('%.6f', math.max(moment / 1000000, latest) + LASTING), id)
  -- When the last mark's time is over, all go, also where nobody cancels anything again.
  local last = math.ceil(call('ZRANGE', cancelled, -1, -1, 'WITHSCORES')[2])
  for _, key in ipairs({ cancelled, reasons }) do call('EXPIREAT', key, last) end
end

ask_to_remove(cancelled)
local over = call('ZRANGEBYSCORE', cancelled, '-inf', score(moment), 'LIMIT', 0, MOST_JOBS)
if #over > 0 then
  call('HDEL', reasons, unpack(over))
  call('ZREM', cancelled, unpack(over))
end

-- A mark from the time when it ran would end a later job of its id.
local function removed()
  unmark(cancelled, reasons, id)
  return record(client, sequence, { 'removed' })
end

local running, reserved_seen = search(sorted(reserved), is_meant)
if running then
  mark()
  return { 'signalled' }
end

local waiting, delayed_seen = search(sorted(delayed), is_meant)
if waiting then
  call('ZREM', delayed, waiting)
  return removed()
end

local length = call('LLEN', ready)
local first, head_seen = search(head, is_meant)
if first then
  call('LREM', ready, 1, first)
  return removed()
end
local last, tail_seen = search(tail_behind(head_seen, length), is_meant)
if last then
  call('LREM', ready, -1, last)
  return removed()
end

local seen_all = head_seen + tail_seen >= length
  and reserved_seen >= call('ZCARD', reserved) and delayed_seen >= call('ZCARD', delayed)
if seen_all then return { 'unknown' } end
if resort == 'leave' then return { 'unseen' } end
mark()
return { 'marked' }
