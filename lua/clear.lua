-- clear.lua: remove all jobs of a queue that are ready, delayed or reserved. Failed ones stay.
--
--   parts    texts marks budget search unique ties
--
--   KEYS[1] client      string  the recorded answer of this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] reserved    zset    payload -> lease end (s)
--   KEYS[5] notify      list    wake-up hints
--   KEYS[6] cancelled   zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[7] reasons     hash    id of a cancelled job -> why
--   KEYS[8] unique      hash    unique key -> who holds it
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--
--   returns  {'cleared', count, left} | {'stale'}      ('stale' writes nothing)
--            left: 1, call again: jobs are left; otherwise none are
--   keeps    I3 I7 I9 I12
--   cost     O(1): the memory is freed in the background. Where jobs are marked as cancelled, the first 100 reserved
--            ones or 1 MiB of them are looked at, and lose their marks. Where unique keys are held, in this queue or
--            another, a call removes the first 100 jobs or 1 MiB of each kind, and frees their keys

local client, ready, delayed, reserved = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local notify, cancelled, reasons, unique = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local sequence = tonumber(ARGV[2])

local known = recall(client, sequence)
if known then return known end

-- A key of another type refuses the whole call; UNLINK would take it along.
local count = call('LLEN', ready) + call('ZCARD', delayed) + call('ZCARD', reserved)
call('LLEN', notify)

local function first_of(command, key)
  local texts = {}
  local function page_from(start) return call(command, key, start, start + PAGE - 1) end
  search(page_from, function(text) texts[#texts + 1] = text end)
  return texts
end

local any_marked, any_unique = call('EXISTS', cancelled) == 1, call('EXISTS', unique) == 1
local running = (any_marked or any_unique) and first_of('ZRANGE', reserved) or {}
if any_marked then ask_to_remove(cancelled) end
local function unmark_running()
  for _, text in ipairs(any_marked and running or {}) do unmark(cancelled, reasons, id_of(text) or '') end
end

if not any_unique then
  call('UNLINK', ready, delayed, reserved, notify)
  unmark_running()
  return record(client, sequence, { 'cleared', count })
end

call('HDEL', unique, nobody())
local waiting, later = first_of('LRANGE', ready), first_of('ZRANGE', delayed)
local function removed_with_keys(texts, ...)
  if #texts == 0 then return end
  call(...)
  leave_all(unique, texts)
end
removed_with_keys(running, 'ZREM', reserved, unpack(running))
removed_with_keys(later, 'ZREM', delayed, unpack(later))
removed_with_keys(waiting, 'LPOP', ready, #waiting)
unmark_running()
local removed = #running + #later + #waiting
local left = removed < count and 1 or 0
if left == 0 then redis.pcall('UNLINK', notify) end
return record(client, sequence, { 'cleared', removed, left })
