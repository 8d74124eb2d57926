-- recount.lua: compare unique keys, batches and lanes with the existing jobs, and repair what differs.
--
--   parts    texts unique ties batches lanes held
--
--   KEYS[1] client              string  the recorded answer to this client
--   KEYS[2] unique              hash    unique key -> its holder
--   KEYS[3] batches             hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[4] cancelled_batches   zset    id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[5] lanes               hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[6] held                zset    jobs that wait until their lane has room
--   KEYS[7] names               set     the names of the queues; in a cluster any key
--   KEYS[3i+5] ready            list    for each queue i: payloads ready to run
--   KEYS[3i+6] delayed          zset    for each queue i: payload -> due time (s)
--   KEYS[3i+7] reserved         zset    for each queue i: payload -> lease end (s)
--   ARGV[1] offset              number  see parts/base.lua
--   ARGV[2] sequence            number  see parts/base.lua
--   ARGV[3] way                 string  'repair'; 'look': writes nothing
--   ARGV[4] known_names         number  how many queue names the client has read; -1: in a cluster, where this is the
--                                       only queue
--   ARGV[5] most_jobs           number  give up if there are more jobs
--   ARGV[6] most_bytes          number  the same for their texts
--
--   returns  {'recounted', findings} | {'unseen'} | {'changed'} | {'stale'}      (only 'recounted' writes anything)
--            findings: groups of: 'stuck', key, id of its holder, which is gone; 'unheld', key, id of a job that should
--            hold it; 'miscounted', id of a batch, how many jobs it counts as pending, how many exist;
--            'crowded', key of the ready list, lane, how many jobs it counts as in it, how many are
--            unseen: there are too many jobs. changed: there is a new queue, which may hold jobs that we would miss
--   keeps    I7 I12 I14 I18
--   cost     O(n) in the number of jobs, keys and batches, within the given bounds: jobs move, so only one look at all
--            of them shows that a job does not exist
--
--   A job that holds its key until its start, or for some time, may exist without its key.

local client, unique, batches, cancelled_batches = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local lanes, held, names = KEYS[5], KEYS[6], KEYS[7]
local sequence, way, known_names = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local most_jobs, most_bytes = tonumber(ARGV[5]), tonumber(ARGV[6])

local known = recall(client, sequence)
if known then return known end

if known_names >= 0 and #call('SMEMBERS', names) ~= known_names then return { 'changed' } end

-- How many texts are read at once.
local READ = 1000

local moment, claims, holders, weights = clock(), {}, {}, {}
-- By lane: its queue, its name, its tie, how many are in.
local crowds = {}

local function count_in(text)
  local place = find(text, TIES, -TIES_WINDOW - WINDOW, true)
  if not place then return end
  -- Nearly all waiting texts end like this, and this takes a tenth of the time.
  local _, _, ties, id = find(text, '^,"ties":"([^"]*)","id":"([^"\\]+)","attempts":%d+}$', place)
  if not ties then ties, id = ties_in(text) end
  if not ties then return end
  local tied = tie_in(ties, id)
  if tied and tied.ending ~= 'd' then
    claims[tied.key .. id] = true
    if tied.ending == 'e' and sub(tied.tie, 1, 2) == '0 ' then holders[tied.key] = holders[tied.key] or tied.tie end
  end
  local batch, weight = batch_among(ties)
  if batch then weights[batch] = (weights[batch] or 0) + weight end
end

local function crowd_of(queue, name)
  local field = queue .. '\0' .. name
  crowds[field] = crowds[field] or { queue = queue, name = name, inside = 0 }
  return crowds[field]
end

-- `state`: 'in' if the jobs have a place in their lanes, 'held', or 'delayed', where only some have one.
local function count_lane(queue, text, state)
  local name, tie, is_in = lane_in(text)
  if not name then return end
  local crowd = crowd_of(queue, name)
  crowd.tie = tie
  if state == 'in' or state == 'delayed' and is_in then crowd.inside = crowd.inside + 1 end
end

local function read_all(queue, state, page_from)
  local start = 0
  repeat
    local page = page_from(start, READ)
    for _, text in ipairs(page) do
      most_bytes = most_bytes - #text
      count_in(text)
      count_lane(queue, text, state)
    end
    start = start + READ
  until #page < READ or most_bytes < 0
end

local function from(command, key)
  return function(start, size) return call(command, key, start, start + size - 1) end
end

local FIRST_QUEUE = 8
for at = FIRST_QUEUE, #KEYS, 3 do
  local ready, delayed, reserved = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  most_jobs = most_jobs - call('LLEN', ready) - call('ZCARD', delayed) - call('ZCARD', reserved)
  most_jobs = most_jobs - count_held(held, ready)
  if most_jobs < 0 then return { 'unseen' } end
  read_all(ready, 'in', from('LRANGE', ready))
  read_all(ready, 'delayed', from('ZRANGE', delayed))
  read_all(ready, 'in', from('ZRANGE', reserved))
  read_all(ready, 'held', held_of(held, ready, {}))
  if most_bytes < 0 then return { 'unseen' } end
end

local findings, freed, given, steps = {}, {}, {}, {}
local function find_out(...)
  for _, fact in ipairs({ ... }) do findings[#findings + 1] = fact end
end

local kept_keys = call('HGETALL', unique)
for at = 1, #kept_keys, 2 do
  local key, kept = kept_keys[at], kept_keys[at + 1]
  -- The key of a debounced job does not matter: a job that no longer waits is in nobody's way.
  local _, _, id = find(kept, '^%d+ (.+)$')
  if id and not claims[key .. id] then
    find_out('stuck', key, id)
    freed[#freed + 1] = key
  end
  holders[key] = nil
end
for key, tie in pairs(holders) do
  find_out('unheld', key, (select(4, find(tie, KEPT_FORM))))
  given[#given + 1] = { key, tie }
end

local kept_batches = call('HGETALL', batches)
for at = 1, #kept_batches, 2 do
  local id = kept_batches[at]
  local batch = not find(id, ':', 1, true) and batch_of(batches, id)
  local there = weights[id] or 0
  -- The numbers of a finished batch are not used any more; but it may have got jobs again.
  if batch and batch.pending ~= there and (batch.finished == 0 or batch.pending ~= 0) then
    find_out('miscounted', id, format('%.0f', batch.pending), format('%.0f', there))
    local more = there - batch.pending
    -- Missing jobs count as skipped; jobs that exist again no longer do.
    local repair = { pending = more, skipped = -math.min(more, batch.skipped) }
    if way == 'repair' then steps[#steps + 1] = step_of(batches, cancelled_batches, batch, repair, moment) end
  end
end

local kept_lanes = call('HGETALL', lanes)
for at = 1, #kept_lanes, 2 do
  local field, kept = kept_lanes[at], kept_lanes[at + 1]
  local name_start = find(field, '%z')
  if name_start then crowd_of(sub(field, 1, name_start - 1), sub(field, name_start + 1)).kept = kept end
end
local wrong = {}
for field, crowd in pairs(crowds) do
  local lane = lane_of(crowd.kept)
  if lane.inside ~= crowd.inside then
    find_out('crowded', crowd.queue, crowd.name, format('%.0f', lane.inside), format('%.0f', crowd.inside))
    lane.inside, lane.tie = crowd.inside, lane.tie or crowd.tie
    wrong[#wrong + 1] = { field, value_of(lane, lane.inside), crowd }
  end
end

if way == 'repair' and #findings > 0 then
  carry_out(steps, function()
    for _, kept in ipairs(given) do call('HSET', unique, unpack(kept)) end
    for _, key in ipairs(freed) do call('HDEL', unique, key) end
    for _, one in ipairs(wrong) do
      local field, value, crowd = unpack(one, 1, 3)
      if value then call('HSET', lanes, field, value) else call('HDEL', lanes, field) end
      let_in(lanes, held, crowd.queue, { crowd.name }, 0)
    end
  end)
end
return record(client, sequence, { 'recounted', findings })
