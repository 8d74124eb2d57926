-- pause.lua: hand out nothing of a queue until it is resumed, or for a time.
--
--   parts    pauses
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] control     hash    restart -> token; paused:<key of ready> -> name of the queue, until:<…> -> its end (s)
--   KEYS[3] ready       list    payloads ready to run: its key identifies the queue
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] name        string  the queue's name
--   ARGV[4] seconds     number  how long; 'ever': until it is resumed
--
--   returns  {'paused'} | {'unchanged'} | {'stale'}
--            ('unchanged': it was paused already, and at most the end of its pause changed; 'stale' writes nothing)
--   keeps    I7 I10
--   cost     O(1)

local client, control, ready = KEYS[1], KEYS[2], KEYS[3]
local sequence, name, seconds = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local known = recall(client, sequence)
if known then return known end

local moment = clock()
local was_paused, ended_at = is_paused(call('HGET', control, 'paused:' .. ready), control, ready, moment)
if was_paused and not ended_at and not seconds then return { 'unchanged' } end
if seconds then
  call('HSET', control, 'until:' .. ready, score(due_at(moment, seconds)), 'paused:' .. ready, name)
else
  call('HSET', control, 'paused:' .. ready, name)
  call('HDEL', control, 'until:' .. ready)
end
return record(client, sequence, { was_paused and 'unchanged' or 'paused' })
