-- keep.lua: keep the failed job of a connection that has no failed store of its own.
--
--   KEYS[1] failed        zset    id -> when it failed (s)
--   KEYS[2] failed_jobs   hash    id -> meta line, payload
--   ARGV[1] offset        number  see prelude.lua
--   ARGV[2] id            string
--   ARGV[3] meta          string  one line of JSON: name, exception, connection
--   ARGV[4] payload       string
--
--   returns  {'kept'}
--   keeps    I4
--   cost     O(log n)
--
--   Idempotent by nature: a repeat replaces the entry by itself, failed a little later.

local failed, failed_jobs = KEYS[1], KEYS[2]
local id, meta, payload = ARGV[2], ARGV[3], ARGV[4]

check_failed(failed, failed_jobs)
keep_failed(failed, failed_jobs, id, clock(), meta, payload)
return { 'kept' }
