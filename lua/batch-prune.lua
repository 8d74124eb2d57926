-- batch-prune.lua: forget batches that ended long ago.
--
--   parts    texts unique ties batches old
--
--   KEYS[1] client              string  the recorded answer to this client
--   KEYS[2] batches             hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[3] begun_batches       zset    id of a batch -> when it began (s)
--   KEYS[4] cancelled_batches   zset    id of a cancelled batch that has not finished -> when it was cancelled (s)
--   ARGV[1] offset              number  see parts/base.lua
--   ARGV[2] sequence            number  see parts/base.lua
--   ARGV[3] age                 number  seconds: forget batches that finished longer ago
--   ARGV[4] unfinished          string  'also': and those that began longer ago and have not finished; or 'not'
--   ARGV[5] from                number  how many of the oldest were looked at before and kept
--
--   returns  {'pruned', count, from} | {'stale'}      ('stale' writes nothing)
--            from: where the next call goes on; -1: all were looked at
--   keeps    I7 I14
--   cost     at most 100 batches are looked at

local client, batches, begun_batches, cancelled_batches = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sequence, age, unfinished, from = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

local known = recall(client, sequence)
if known then return known end

local oldest = clock() - math.floor(age * 1000000)
local looked, count = forget_old(batches, begun_batches, cancelled_batches, oldest, unfinished == 'also', from)
return record(client, sequence, { 'pruned', count, looked < MOST_JOBS and -1 or from + looked - count })
