-- limit.lua: let only so many jobs of a queue run at a time, over all workers, or any number again.
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] control     hash    orders; running:<key of ready> -> how many jobs of the queue may be reserved at a time
--   KEYS[3] ready       list    payloads ready to run: its key identifies the queue
--   KEYS[4] notify      list    wake-up hints
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] running     number  how many; 0: any number
--
--   returns  {'limited'} | {'stale'}      ('stale' writes nothing)
--   keeps    I5 I7 I19
--   cost     O(1)

local client, control, ready, notify = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sequence, running = tonumber(ARGV[2]), tonumber(ARGV[3])

local known = recall(client, sequence)
if known then return known end

-- Read before anything is written: if it has another type, the limit stays.
call('LLEN', notify)
local is_filled = call('EXISTS', ready) > 0
if running == 0 then
  call('HDEL', control, 'running:' .. ready)
else
  call('HSET', control, 'running:' .. ready, running)
end
-- There may be more room than before. The limit counts even if the hint is refused.
if is_filled then pcall(leave_hint, notify) end
return record(client, sequence, { 'limited' })
