-- lock-acquire.lua: take a lock, or take it again.
--
--   KEYS[1] lock        string  the token of the lock's owner, until it expires
--   ARGV[1] offset      number  see parts/base.lua; a lock's end is Redis's own
--   ARGV[2] token       string
--   ARGV[3] ttl         number  milliseconds from now
--
--   returns  {'acquired'} | {'held'}      ('held' writes nothing: somebody else has it)
--   keeps    I8
--   cost     O(1)
--
--   Idempotent by nature: a repeat with the same token acquires again.

local lock, token, ttl = KEYS[1], ARGV[2], ARGV[3]

local owner = call('GET', lock)
if owner and owner ~= token then return { 'held' } end
call('SET', lock, token, 'PX', ttl)
return { 'acquired' }
