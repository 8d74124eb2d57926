-- resume.lua: hand out the jobs of a paused queue again.
--
--   parts    pauses
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] control     hash    restart -> token; paused:<key of ready> -> name of the queue, until:<…> -> its end (s)
--   KEYS[3] ready       list    payloads ready to run
--   KEYS[4] delayed     zset    payload -> due time (s)
--   KEYS[5] notify      list    wake-up hints
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--
--   returns  {'resumed'} | {'unchanged'} | {'stale'}      ('unchanged': it is not paused; 'stale' writes nothing)
--   keeps    I5 I7 I10
--   cost     O(1)

local client, control, ready, delayed, notify = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local sequence = tonumber(ARGV[2])

local known = recall(client, sequence)
if known then return known end

-- Read before anything is written: if it has another type, the queue stays paused.
call('LLEN', notify)
local is_filled = call('EXISTS', ready, delayed) > 0
local name = call('HGET', control, 'paused:' .. ready)
if not is_paused(name, control, ready, clock()) then return { 'unchanged' } end
call('HDEL', control, 'paused:' .. ready, 'until:' .. ready)
-- The queue is resumed even if the hint is refused.
if is_filled then pcall(leave_hint, notify) end
return record(client, sequence, { 'resumed' })
