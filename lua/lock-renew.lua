-- lock-renew.lua: restart the time of a lock.
--
--   KEYS[1] lock        string  the token of the lock's owner, until it expires
--   ARGV[1] offset      number  see parts/base.lua; a lock's end is Redis's own
--   ARGV[2] token       string
--   ARGV[3] ttl         number  milliseconds from now
--
--   returns  {'renewed'} | {'lost'}      ('lost' writes nothing)
--   keeps    I8
--   cost     O(1)
--
--   Idempotent by nature: a repeat moves the same end a little further.

local lock, token, ttl = KEYS[1], ARGV[2], ARGV[3]

if call('GET', lock) ~= token then return { 'lost' } end
call('PEXPIRE', lock, ttl)
return { 'renewed' }
