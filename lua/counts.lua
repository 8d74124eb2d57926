-- counts.lua: how many jobs a queue holds, all at one moment.
--
--   KEYS[1] ready       list    payloads ready to run
--   KEYS[2] delayed     zset    payload -> due time (s)
--   KEYS[3] reserved    zset    payload -> lease end (s)
--   ARGV[1] offset      number  see parts/base.lua
--
--   returns  {'counted', ready, delayed, reserved}
--   keeps    writes nothing
--   cost     O(1)

local ready, delayed, reserved = KEYS[1], KEYS[2], KEYS[3]

return { 'counted', call('LLEN', ready), call('ZCARD', delayed), call('ZCARD', reserved) }
