-- pause.lua: hand out nothing of a queue until it is resumed.
--
--   KEYS[1] client      string  the recorded answer of this client
--   KEYS[2] control     hash    restart -> token; paused:<key of ready> -> name of the queue
--   KEYS[3] ready       list    payloads ready to run: by its key the queue is told from others
--   ARGV[1] offset      number  see prelude.lua
--   ARGV[2] sequence    number  see prelude.lua
--   ARGV[3] name        string  the queue's
--
--   returns  {'paused'} | {'unchanged'} | {'stale'}      ('unchanged', it is paused already, and 'stale' write nothing)
--   keeps    I7 I10
--   cost     O(1)

local client, control, ready = KEYS[1], KEYS[2], KEYS[3]
local sequence, name = tonumber(ARGV[2]), ARGV[3]

local known = recall(client, sequence)
if known then return known end

if call('HSETNX', control, 'paused:' .. ready, name) == 0 then return { 'unchanged' } end
return record(client, sequence, { 'paused' })
