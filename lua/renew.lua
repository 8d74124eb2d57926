-- renew.lua: let the leases of running jobs start anew.
--
--   KEYS[1] reserved    zset    payload -> lease end (s)
--   ARGV[1] offset      number  see prelude.lua
--   ARGV[2] lease       number  seconds until a silent holder loses its job
--   ARGV[3..] tokens            the reservations' exact texts
--
--   returns  {'renewed', lost}     lost: places (from 1) of reservations that are no longer there
--   keeps    I2 I3 I6
--   cost     O(log n) for each token
--
--   Idempotent by nature: a repeat moves the same leases a little further. A lease that has ended, but was not
--   reclaimed, is still its holder's.

local reserved, lease = KEYS[1], tonumber(ARGV[2])
local FIRST_TOKEN = 3

local lease_end = free_score(reserved, clock() + math.floor(lease * 1000000))
local lost = {}
for at = FIRST_TOKEN, #ARGV do
  if call('ZADD', reserved, 'XX', 'CH', lease_end, ARGV[at]) == 0 then lost[#lost + 1] = at - FIRST_TOKEN + 1 end
end
return { 'renewed', lost }
