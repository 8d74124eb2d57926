-- clear.lua: remove all jobs of a queue that are ready, delayed or reserved. Failed ones stay.
--
--   parts    texts marks budget search
--
--   KEYS[1] client      string  the recorded answer of this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] reserved    zset    payload -> lease end (s)
--   KEYS[5] notify      list    wake-up hints
--   KEYS[6] cancelled   zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[7] reasons     hash    id of a cancelled job -> why
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--
--   returns  {'cleared', count} | {'stale'}      ('stale' writes nothing)
--   keeps    I3 I7 I9
--   cost     O(1): the memory is freed in the background. Where jobs are marked as cancelled, the first 100 reserved
--            ones or 1 MiB of them are looked at, and lose their marks

local client, ready, delayed, reserved = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local notify, cancelled, reasons = KEYS[5], KEYS[6], KEYS[7]
local sequence = tonumber(ARGV[2])

local known = recall(client, sequence)
if known then return known end

-- A key of another type refuses the whole call; UNLINK would take it along.
local count = call('LLEN', ready) + call('ZCARD', delayed) + call('ZCARD', reserved)
call('LLEN', notify)

local marked = {}
if call('EXISTS', cancelled) == 1 then
  ask_to_remove(cancelled)
  local function page_from(start) return call('ZRANGE', reserved, start, start + PAGE - 1) end
  search(page_from, function(text) marked[#marked + 1] = id_of(text) or '' end)
end

call('UNLINK', ready, delayed, reserved, notify)
for _, id in ipairs(marked) do unmark(cancelled, reasons, id) end
return record(client, sequence, { 'cleared', count })
