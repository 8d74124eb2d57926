-- clear.lua: remove all jobs of a queue that are ready, held, delayed or reserved. Failed ones stay.
--
--   parts    texts marks budget search unique ties batches lanes held
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] reserved    zset    payload -> lease end (s)
--   KEYS[5] notify      list    wake-up hints
--   KEYS[6] cancelled   zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[7] reasons     hash    id of a cancelled job -> its reason
--   KEYS[8] unique      hash    unique key -> its holder
--   KEYS[9] batches     hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[10] cancelled_batches  zset  id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[11] lanes      hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[12] held       zset    jobs that wait until their lane has room
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] most        number  remove at most this many ready jobs: those that came after the first call stay; -1: all
--
--   returns  {'cleared', count, most} | {'stale'}      ('stale' writes nothing)
--            most: jobs are left, call again with it; absent: none are left
--   keeps    I3 I7 I9 I12 I14 I18
--   cost     O(1): the memory is freed in the background. If jobs are marked as cancelled, it reads the first 100
--            reserved ones, or 1 MiB, and removes their marks. If the queue has lanes, or unique keys are held or
--            batches exist, in this queue or another, a call removes the first 100 jobs or 1 MiB of each kind, frees
--            their keys and counts them as skipped

local client, ready, delayed, reserved = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local notify, cancelled, reasons, unique = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local batches, cancelled_batches, lanes, held = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local sequence, most = tonumber(ARGV[2]), tonumber(ARGV[3])

local known = recall(client, sequence)
if known then return known end

-- A key of another type fails the whole call; UNLINK would remove it.
local ready_count = call('LLEN', ready)
if most >= 0 then ready_count = math.min(ready_count, most) end
local has_lanes = call('HGET', lanes, '#' .. ready) and true
local held_count = has_lanes and count_held(held, ready) or 0
local count = ready_count + held_count + call('ZCARD', delayed) + call('ZCARD', reserved)
call('LLEN', notify)

local function those_of(page_from)
  local texts = {}
  search(page_from, function(text) texts[#texts + 1] = text end)
  return texts
end

local function first_of(command, key, limit)
  return those_of(function(start, size)
    return start < limit and call(command, key, start, math.min(start + size, limit) - 1) or {}
  end)
end

local any_marked = call('EXISTS', cancelled) == 1
local any_tied = has_lanes or call('EXISTS', unique, batches) > 0 or most >= 0
local members = {}
local kept_back = held_count > 0 and those_of(held_of(held, ready, members)) or {}
-- Held jobs go before all others, whose places they would take.
local is_last_held = #kept_back == held_count
local running = is_last_held and (any_marked or any_tied) and first_of('ZRANGE', reserved, math.huge) or {}
if any_marked then ask_to_remove(cancelled) end
local function unmark_running()
  for _, text in ipairs(any_marked and running or {}) do unmark(cancelled, reasons, id_of(text) or '') end
end

if not any_tied then
  call('UNLINK', ready, delayed, reserved, notify)
  unmark_running()
  return record(client, sequence, { 'cleared', count })
end

call('HDEL', unique, nobody())
local removed = {}
for i, text in ipairs(kept_back) do removed[i] = members[text] end
local later = is_last_held and first_of('ZRANGE', delayed, math.huge) or {}
local waiting = is_last_held and first_of('LRANGE', ready, ready_count) or {}
local gone, left = {}, {}
for _, texts in ipairs({ kept_back, waiting, later, running }) do
  for _, text in ipairs(texts) do gone[#gone + 1] = text end
end
for _, key in ipairs({ reserved, delayed, held }) do ask_to_remove(key) end
carry_out(steps_without(batches, cancelled_batches, gone, clock()), function()
  if #removed > 0 then call('ZREM', held, unpack(removed)) end
  if #running > 0 then call('ZREM', reserved, unpack(running)) end
  if #later > 0 then call('ZREM', delayed, unpack(later)) end
  if #waiting > 0 then call('LPOP', ready, #waiting) end
end)
if call('EXISTS', unique) == 1 then leave_all(unique, gone) end
if has_lanes then
  for _, texts in ipairs({ waiting, running }) do
    for _, text in ipairs(texts) do left[#left + 1] = (lane_in(text)) end
  end
  for _, text in ipairs(later) do
    local name, _, is_in = lane_in(text)
    if is_in then left[#left + 1] = name end
  end
  pcall(let_in, lanes, held, ready, left)
end
unmark_running()
if #gone < count then return record(client, sequence, { 'cleared', #gone, ready_count - #waiting }) end
-- A batch may have sent a job to this very queue.
if call('EXISTS', ready, delayed) == 0 then redis.pcall('UNLINK', notify) end
return record(client, sequence, { 'cleared', #gone })
