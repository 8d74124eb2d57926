-- cancel.lua: remove a job from a queue, or mark it as cancelled, so that a worker that holds or meets it ends it.
--
--   parts    texts marks budget search lanes held sight unique ties batches
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] reserved    zset    payload -> lease end (s)
--   KEYS[5] cancelled   zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[6] reasons     hash    id of a cancelled job -> its reason
--   KEYS[7] unique      hash    unique key -> its holder
--   KEYS[8] batches     hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[9] cancelled_batches  zset  id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[10] lanes      hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[11] held       zset    jobs that wait until their lane has room
--   KEYS[12] notify     list    wake-up hints
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] id          string
--   ARGV[4] way         string  'look': at both ends of ready, and the heads of the others; 'mark': the same, and mark
--                               the job if it is not found and not all was looked at; 'search': only deeper in ready
--   ARGV[5] reason      string  why it is cancelled; '': no reason was given
--   ARGV[6] from        number  how many of the last ready jobs were looked at before; for 'search'
--
--   returns  {'removed', text} it waited, and is gone; a repeat answers without the text, which may be long
--            {'signalled'}     it is reserved, and marked
--            {'marked', seen}  not found, but not all was looked at. seen: how many of the last ready jobs were; -1:
--                              not all delayed, reserved or held jobs were either
--            {'unseen', seen}  the same, and nothing was marked
--            {'unknown'}       it is not in this queue; after 'search': not between `from` and the head
--            {'stale'}         (writes nothing)
--   keeps    I1 I5 I7 I9 I12 I14 I18
--   cost     O(1) in the length of the queue: it looks at the first 100 jobs or 1 MiB of text of each list, and at the
--            last ones of ready, and drops at most 100 expired marks. 'search': O(from) to remove the job
--
--   Only a removal is recorded: after any other answer, a repeat finds and writes the same.

local client, ready, delayed, reserved = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local cancelled, reasons, unique = KEYS[5], KEYS[6], KEYS[7]
local batches, cancelled_batches, lanes, held, notify = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local sequence, id, way, reason, from = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
-- Seconds for which a mark is kept: longer than a job waits between its attempts.
local LASTING = 30 * 24 * 3600

local known = recall(client, sequence)
if known then return known end

local moment = clock()

local function mark()
  local latest = tonumber(call('ZRANGE', delayed, -1, -1, 'WITHSCORES')[2] or 0)
  -- The reason is written before the mark, which must not be met without it.
  if reason == '' then call('HDEL', reasons, id) else call('HSET', reasons, id, reason) end
  call('ZADD', cancelled, format('%.6f', math.max(moment / 1000000, latest) + LASTING), id)
  -- All marks expire with the last one, even if nobody cancels anything again.
  local last = math.ceil(call('ZRANGE', cancelled, -1, -1, 'WITHSCORES')[2])
  for _, key in ipairs({ cancelled, reasons }) do call('EXPIREAT', key, last) end
end

ask_to_remove(cancelled)

-- A mark left while the job ran would end a later job with its id.
-- `was_in`: it had a place in its lane, if it has one.
local function remove(text, was_in, removal)
  carry_out(steps_without(batches, cancelled_batches, { text }, moment), removal)
  -- If this is refused, the place is taken until nothing of the queue is left, or until `recount`.
  pcall(function()
    if was_in and let_in(lanes, held, ready, { (lane_in(text)) }) > 0 then leave_hint(notify) end
  end)
  unmark(cancelled, reasons, id)
  leave_all(unique, { text })
  record(client, sequence, { 'removed' })
  return { 'removed', text }
end

if way == 'search' then
  local found, seen = look_deeper(id, ready, from)
  if found then return remove(found, true, function() call('LREM', ready, -1, found) end) end
  return seen and { 'unseen', seen } or { 'unknown' }
end

local over = call('ZRANGEBYSCORE', cancelled, '-inf', score(moment), 'LIMIT', 0, MOST_JOBS)
if #over > 0 then
  call('HDEL', reasons, unpack(over))
  call('ZREM', cancelled, unpack(over))
end

local place, text, seen = look_for(id, ready, delayed, reserved, held)
if place == 'reserved' then
  mark()
  return { 'signalled' }
end
if place == 'delayed' then
  local _, _, is_in = lane_in(text)
  return remove(text, is_in, function() call('ZREM', delayed, text) end)
end
if place == 'held' then return remove(text, false, function() call('ZREM', held, seen) end) end
if place then return remove(text, true, function() call('LREM', ready, place == 'tail' and -1 or 1, text) end) end
if not seen then return { 'unknown' } end
if way == 'look' then return { 'unseen', seen } end
mark()
return { 'marked', seen }
