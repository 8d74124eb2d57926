-- prune.lua: remove failed jobs, the oldest first, in pages of 100.
--
--   KEYS[1] client        string  the recorded answer to this client
--   KEYS[2] failed        zset    id -> when it failed (s)
--   KEYS[3] failed_jobs   hash    id -> meta line, payload
--   ARGV[1] offset        number  see parts/base.lua
--   ARGV[2] sequence      number  see parts/base.lua
--   ARGV[3] older_than    number  remove jobs that failed at least this many seconds ago; 'any': of any age
--   ARGV[4] keep          number  how many of the newest stay
--
--   returns  {'pruned', count, 'more'} | {'pruned', count, 'done'} | {'stale'}      ('stale' writes nothing)
--   keeps    I4 I7
--   cost     O(log n) for each removed job

local client, failed, failed_jobs = KEYS[1], KEYS[2], KEYS[3]
local sequence, older_than, keep = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local known = recall(client, sequence)
if known then return known end

local before = '+inf'
if older_than ~= 'any' then before = '(' .. score(clock() - math.floor(older_than * 1000000)) end
local due = math.min(call('ZCOUNT', failed, '-inf', before), call('ZCARD', failed) - keep)
local count = math.max(math.min(due, MOST_JOBS), 0)
if count > 0 then
  ask_to_remove(failed)
  local ids = call('ZRANGE', failed, 0, count - 1)
  call('HDEL', failed_jobs, unpack(ids))
  call('ZREM', failed, unpack(ids))
end
return record(client, sequence, { 'pruned', count, due > count and 'more' or 'done' })
