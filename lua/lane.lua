-- lane.lua: set how many jobs of a lane may be in its queue, ready or reserved, at a time, or let in none.
--
--   parts    lanes
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] lanes       hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[3] held        zset    jobs that wait until their lane has room
--   KEYS[4] ready       list    payloads ready to run
--   KEYS[5] notify      list    wake-up hints
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] name        string  of the lane
--   ARGV[4] change      string  'limit'; 'pause': those that are in go on; 'resume'; 'let in': changes nothing
--   ARGV[5] limit       number  how many may be in; '': as many as its jobs say
--
--   returns  {'changed', count} | {'stale'}      ('stale' writes nothing)
--            count: how many came in, 100 at most: if so many did, ask again to let in more
--   keeps    I5 I7 I18
--   cost     O(log n) for each job that comes in

local client, lanes, held, ready, notify = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local sequence, name, change, limit = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local known = recall(client, sequence)
if known then return known end

local field = ready .. '\0' .. name
local lane = lane_of(call('HGET', lanes, field))
if change == 'limit' then lane.limit = tonumber(limit) end
if change == 'pause' or change == 'resume' then lane.paused = change == 'pause' end
lane.tie = lane.tie or 'l1'
call('LLEN', notify)
local value = value_of(lane, lane.inside)
if value then call('HSET', lanes, field, value) else call('HDEL', lanes, field) end
local count = let_in(lanes, held, ready, { name }, 0)
if count > 0 then pcall(leave_hint, notify) end
return record(client, sequence, { 'changed', count })
