-- record-list.lua: read records of one kind, those that expire last first.
--
--   parts    budget
--
--   KEYS[1] values      hash    id of a record -> its value
--   KEYS[2] ends        zset    id of a record -> when it expires (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] from        number  how many to skip
--   ARGV[3] limit       number
--
--   returns  {'listed', from, id, value, …}
--            from: where the next call goes on; -1: there are no more
--   keeps    writes nothing
--   cost     O(log n): 100 records or 1 MiB of values at most

local values, ends = KEYS[1], KEYS[2]
local from, limit = tonumber(ARGV[2]), math.min(tonumber(ARGV[3]), MOST_JOBS)

local moment, budget = clock(), new_budget()
local found, listed = call('ZRANGE', ends, from, from + limit - 1, 'REV', 'WITHSCORES'), {}
local looked, is_last = 0, #found < 2 * limit
for at = 1, #found, 2 do
  local id, ending = found[at], tonumber(found[at + 1])
  is_last = is_last or ending * 1000000 <= moment
  local value = ending * 1000000 > moment and call('HGET', values, id)
  if value and not charge(budget, value) then
    is_last = false
    break
  end
  looked = looked + 1
  if value then listed[#listed + 1], listed[#listed + 2] = id, value end
end
return { 'listed', is_last and -1 or from + looked, unpack(listed) }
