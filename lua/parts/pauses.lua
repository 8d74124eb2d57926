-- pauses.lua: whether a queue is paused.

-- `name` is the queue's name, recorded if it was paused. Also returns when a temporary pause ends, in microseconds.
-- Removes the fields of a pause that is over; it is over whether or not that succeeds.
local function is_paused(name, control, ready, moment)
  if not name then return false end
  local ending = tonumber(call('HGET', control, 'until:' .. ready) or '')
  if not ending then return true end
  if ending * 1000000 > moment then return true, ending * 1000000 end
  redis.pcall('HDEL', control, 'paused:' .. ready, 'until:' .. ready)
  return false
end
