-- tidy-pauses.lua: remove what is left of pauses that are over.
--
--   parts    pauses
--
--   KEYS[1] control     hash    restart -> token; paused:<key of ready> -> name of the queue, until:<…> -> its end (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2..] readies   string  the keys of ready of up to 100 queues
--
--   returns  {'tidied'}
--   keeps    I10
--   cost     O(1) for each queue
--
--   Idempotent by nature: a pause that lasts stays, also one that has begun meanwhile.

local control = KEYS[1]
local FIRST = 2

local moment = clock()
for at = FIRST, #ARGV do
  local ready = ARGV[at]
  is_paused(call('HGET', control, 'paused:' .. ready), control, ready, moment)
end
return { 'tidied' }
