-- lock-release.lua: give a lock back.
--
--   KEYS[1] lock        string  the token of the lock's owner, until it expires
--   KEYS[2] mark        string  exists if this very call was carried out before: its reply was lost
--   ARGV[1] offset      number  see parts/base.lua; a lock's end is Redis's own
--   ARGV[2] token       string
--
--   returns  {'released'} | {'lost'}      ('lost' writes nothing)
--   keeps    I8
--   cost     O(1)
--
--   The mark stays for a minute, not for an hour as records of other calls do: there may be many locks, and nobody
--   repeats a release for so long.

local lock, mark, token = KEYS[1], KEYS[2], ARGV[2]
local MARKED = 60

if call('EXISTS', mark) == 1 then return { 'released' } end
if call('GET', lock) ~= token then return { 'lost' } end
call('DEL', lock)
-- The lock is released even if the mark is refused.
redis.pcall('SET', mark, '1', 'EX', MARKED)
return { 'released' }
