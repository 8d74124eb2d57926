-- find.lua: look for a job by its id.
--
--   parts    texts budget search sight
--
--   KEYS[1] ready       list    payloads ready to run
--   KEYS[2] delayed     zset    payload -> due time (s)
--   KEYS[3] reserved    zset    payload -> lease end (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] id          string
--
--   returns  {'found', state, payload, score} | {'unseen'} | {'unknown'}
--            (of a ready job there is no score; 'unseen': not all was looked at)
--   keeps    writes nothing
--   cost     as far as cancel.lua looks: see parts/sight.lua

local ready, delayed, reserved, id = KEYS[1], KEYS[2], KEYS[3], ARGV[2]

local place, payload, seen = look_for(id, ready, delayed, reserved)
if not place then return { seen and 'unseen' or 'unknown' } end
local sorted_by = ({ delayed = delayed, reserved = reserved })[place]
if not sorted_by then return { 'found', 'ready', payload } end
return { 'found', place, payload, call('ZSCORE', sorted_by, payload) }
