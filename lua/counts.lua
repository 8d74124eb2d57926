-- counts.lua: how many jobs a queue holds, all at one moment.
--
--   parts    held
--
--   KEYS[1] ready       list    payloads ready to run
--   KEYS[2] delayed     zset    payload -> due time (s)
--   KEYS[3] reserved    zset    payload -> lease end (s)
--   KEYS[4] held        zset    jobs that wait until their lane has room: see parts/lanes.lua
--   ARGV[1] offset      number  see parts/base.lua
--
--   returns  {'counted', ready, delayed, reserved}      (held jobs count as ready)
--   keeps    writes nothing
--   cost     O(log n) in the number of held jobs

local ready, delayed, reserved, held = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local waiting = call('LLEN', ready) + count_held(held, ready)
return { 'counted', waiting, call('ZCARD', delayed), call('ZCARD', reserved) }
