-- forget.lua: remove one failed job.
--
--   parts    failed
--
--   KEYS[1] client        string  the recorded answer to this client
--   KEYS[2] failed        zset    id -> when it failed (s)
--   KEYS[3] failed_jobs   hash    id -> meta line, payload
--   ARGV[1] offset        number  see parts/base.lua
--   ARGV[2] sequence      number  see parts/base.lua
--   ARGV[3] id            string
--   ARGV[4] payload       string  remove only this text; absent: any text
--
--   returns  {'forgotten'} | {'absent'} | {'stale'}      ('absent' and 'stale' write nothing)
--   keeps    I4 I7
--   cost     O(log n)

local client, failed, failed_jobs = KEYS[1], KEYS[2], KEYS[3]
local sequence, id, payload = tonumber(ARGV[2]), ARGV[3], ARGV[4]

local known = recall(client, sequence)
if known then return known end

if not call('ZSCORE', failed, id) then return { 'absent' } end
local entry = payload and call('HGET', failed_jobs, id)
if payload and not (entry and select(2, entry_parts(entry)) == payload) then return { 'absent' } end
ask_to_remove(failed)
call('HDEL', failed_jobs, id)
call('ZREM', failed, id)
return record(client, sequence, { 'forgotten' })
