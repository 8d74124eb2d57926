-- lanes.lua: list the lanes of a queue that have jobs, or settings of their own; or one of them.
--
--   parts    lanes
--
--   KEYS[1] lanes       hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[2] held        zset    jobs that wait until their lane has room
--   KEYS[3] ready       list    payloads ready to run: its key is the name of the queue
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] cursor      string  '0', or as the call before returned it
--   ARGV[3] only        string  the name of a lane; '': all
--
--   returns  {'listed', cursor, lanes}
--            cursor: for the next call; '0': there are no more; lanes: groups of: name, how many are in, how many are
--            held, how many may be in, 1 if it is paused. Those that come or go meanwhile may be missed or told twice
--   keeps    writes nothing
--   cost     O(log n) for each lane: it looks at about 1,000 of all queues, and returns about 100

local lanes, held, ready, cursor, only = KEYS[1], KEYS[2], KEYS[3], ARGV[2], ARGV[3]

local pattern, found = string.gsub(ready, '[%*%?%[%]\\]', '\\%0') .. '\0*', {}

local function tell(name, lane)
  local paused = lane.paused
  lane.paused = false
  local from = ready .. '\0' .. name
  local count = call('ZLEXCOUNT', held, '[' .. from .. '\0', '(' .. from .. '\1')
  local last, running = #found, running_in(lane)
  found[last + 1], found[last + 2], found[last + 3] = name, lane.inside, count
  found[last + 4], found[last + 5] = running, paused and 1 or 0
end

if only ~= '' then
  local value = call('HGET', lanes, ready .. '\0' .. only)
  if value then tell(only, lane_of(value)) end
  return { 'listed', '0', found }
end

for _ = 1, 10 do
  local page
  cursor, page = unpack(call('HSCAN', lanes, cursor, 'MATCH', pattern, 'COUNT', MOST_JOBS))
  for at = 1, #page, 2 do
    tell(sub(page[at], #ready + 2), lane_of(page[at + 1]))
  end
  if cursor == '0' or #found >= 5 * MOST_JOBS then break end
end
return { 'listed', cursor, found }
