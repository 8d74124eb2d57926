-- lock-release.lua: give a lock back.
--
--   KEYS[1] lock        string  the token of the lock's owner, until it expires
--   ARGV[1] offset      number  see prelude.lua; a lock's end is Redis's own
--   ARGV[2] token       string
--
--   returns  {'released'} | {'lost'}      ('lost' writes nothing)
--   keeps    I8
--   cost     O(1)
--
--   Idempotent by nature in what it writes. A repeat after a lost reply answers 'lost', as if the lock had run out.

local lock, token = KEYS[1], ARGV[2]

if call('GET', lock) ~= token then return { 'lost' } end
call('DEL', lock)
return { 'released' }
