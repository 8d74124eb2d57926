-- renew.lua: restart the leases of running jobs.
--
--   parts    texts marks
--
--   KEYS[1] reserved    zset    payload -> lease end (s)
--   KEYS[2] cancelled   zset    id of a cancelled job -> when the mark may go (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] lease       number  seconds until a silent holder loses its job
--   ARGV[3..] tokens            the reservations' exact texts
--
--   returns  {'renewed', lost, ending}     places (from 1) of reservations: lost: gone; ending: renewed, but their jobs
--                                          were cancelled
--   keeps    I2 I3 I6
--   cost     O(log n) for each token
--
--   Idempotent by nature: a repeat moves the same leases a little further. A lease that has ended, but was not
--   reclaimed, is still its holder's.

local reserved, cancelled, lease = KEYS[1], KEYS[2], tonumber(ARGV[2])
local FIRST_TOKEN = 3

-- Leases must not end because a server is full.
ask_to_remove(reserved)

local lease_end = free_score(reserved, clock() + math.floor(lease * 1000000))
local any_cancelled = call('EXISTS', cancelled) == 1
-- A key of another type must fail the call before any lease is renewed.
if any_cancelled then call('ZCARD', cancelled) end
local lost, renewed, places = {}, {}, {}
for at = FIRST_TOKEN, #ARGV do
  local place = at - FIRST_TOKEN + 1
  if call('ZADD', reserved, 'XX', 'CH', lease_end, ARGV[at]) == 0 then
    lost[#lost + 1] = place
  elseif any_cancelled then
    renewed[#renewed + 1], places[#places + 1] = ARGV[at], place
  end
end
local ending = cancelled_among(cancelled, nil, { renewed }, 1)
for i, place in ipairs(ending) do ending[i] = places[place] end
return { 'renewed', lost, ending }
