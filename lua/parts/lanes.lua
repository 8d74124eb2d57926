-- lanes.lua: lets so many jobs of a lane into a queue, ready or reserved, at a time. The others are held, in order.
--
--   A job says its lane last in its ties (see `src/payload/ties.ts`): `l`, or `L` if the lane is ordered; how many may
--   be in; '/'; and the name of the lane. The name of a queue, here, is the key of its ready list.
--   lanes (hash): queue \0 lane -> how many are in, and how many may be, as in the last job that came; and if that was
--   set otherwise: 'p' if the lane is paused, and its limit, if it has one. '#' queue -> the last order: this queue has
--   had lanes. held (zset, all scores 0): queue \0 lane \0 order (12 digits, hexadecimal) \0 payload.

-- How far from its end a text may have its ties, and nearly always has them: to search further takes time. Then what
-- follows the beginning of its ties, in a text of ours whose only tie is its lane; and the end of a text, from its ties
-- on.
local LANE_WINDOW, LANE_NEAR = 640, 160
local LANE_ALONE = '^([lL]%d+)/([%w_.:@-]+)","id":"'
local LANED = '^,"ties":"[^"]-([lL]%d+)/([%w_.:@-]+)",[%w":,]-"id":"[^"\\]+",([%a":,%d]-)"attempts":(%d+)}$'
-- How many jobs a call lets in beyond the place of each one that has left.
local MOST_MORE = 100
-- Behind the lane in a member come its order, between two separators, and the text.
local BEFORE_TEXT = 15

-- The lane of a job, its tie ('l3'), and whether it was handed out before and its lane is ordered: then it keeps its
-- place while it is delayed. Nil: it has none.
local function lane_in(text)
  local place = find(text, ',"ties":"', -LANE_NEAR, true) or find(text, ',"ties":"', -LANE_WINDOW, true)
  while place do
    -- Nearly always an id of 36 characters and one digit of attempts follow: the long pattern takes twice the time.
    local _, last, tie, lane = find(text, LANE_ALONE, place + 9)
    local is_ours = last == #text - 51 and sub(text, -15, -3) == '","attempts":'
    if is_ours and find(text, '"', last + 1, true) == #text - 14 then
      return lane, tie, byte(tie) == 76 and byte(text, -2) ~= 48
    end
    local counters, attempts
    _, _, tie, lane, counters, attempts = find(text, LANED, place)
    if lane then return lane, tie, byte(tie) == 76 and (attempts ~= '0' or counters ~= '') end
    place = find(text, ',"ties":"', place + 1, true)
  end
end

-- How many may be in.
local function running_in(lane)
  if lane.paused then return 0 end
  local own = tonumber(sub(lane.tie, 2))
  -- Order allows no more than one.
  return lane.limit and (byte(lane.tie) == 76 and math.min(lane.limit, 1) or lane.limit) or own
end

-- A lane by its value, or a later tie. Nothing is known of it without one.
local function lane_of(kept, later_tie)
  local _, _, inside, tie, paused, limit = find(kept or '', '^(%d+) ([lL]%d+) ?(p?)(%d*)$')
  local lane = {
    inside = tonumber(inside or 0), tie = later_tie or tie, paused = paused == 'p',
    limit = limit and limit ~= '' and tonumber(limit) or nil, most = 0,
  }
  if lane.tie then lane.most = running_in(lane) end
  return lane
end

-- The value of a lane with so many jobs in it. Nil: there is nothing to be kept.
local function value_of(lane, inside)
  local set = (lane.paused and 'p' or '') .. (lane.limit or '')
  if inside == 0 and set == '' then return nil end
  return format(set == '' and '%d %s' or '%d %s %s', inside, lane.tie, set)
end

-- Plans to let in the first held jobs of a lane. `field`: its queue and its name; `room`: how many at most. Returns how
-- many there are.
local function plan_heads(plan, field, room)
  local heads, ready, text_start = plan.heads, plan.ready, #field + BEFORE_TEXT
  local members = call('ZRANGE', plan.held, '[' .. field .. '\0', '(' .. field .. '\1', 'BYLEX', 'LIMIT', 0, room)
  for _, member in ipairs(members) do
    heads[#heads + 1], ready[#ready + 1] = member, sub(member, text_start)
  end
  return #members
end

-- Plans to change the value of a lane.
local function plan_value(plan, field, value, kept)
  local set = plan.set
  if value ~= kept then set[#set + 1], set[#set + 2], set[#set + 3] = field, value or false, kept or false end
end

local function set_fields(write, plan, place)
  local fields, set, gone = plan.set, {}, {}
  for at = 1, #fields, 3 do
    local field, value = fields[at], fields[at + place]
    if value then set[#set + 1], set[#set + 2] = field, value else gone[#gone + 1] = field end
  end
  if #set > 0 then write('HSET', plan.lanes, unpack(set)) end
  if #gone > 0 then write('HDEL', plan.lanes, unpack(gone)) end
end

-- Writes what was planned, the counts and the removals first: if a job may not be written, they are undone. `write`
-- writes the jobs.
local function write_plan(plan, write)
  local heads, later = plan.heads, plan.later
  if #plan.set > 0 then set_fields(write, plan, 1) end
  -- Nobody can put back what was removed if it may not be written.
  if #heads > 0 then call('ZADD', plan.held, 'XX', 0, nobody()) end
  local done, problem = pcall(function()
    if #heads > 0 then call('ZREM', plan.held, unpack(heads)) end
    if later then write('ZADD', plan.held, unpack(later)) end
    if #plan.ready > 0 then write('RPUSH', plan.queue, unpack(plan.ready)) end
  end)
  if done then return end
  set_fields(redis.pcall, plan, 2)
  for _, head in ipairs(heads) do redis.pcall('ZADD', plan.held, 0, head) end
  error(problem)
end

-- Lets in others for those that have left. `names`: of their lanes, one for each job, in order; `each`: for how many
-- jobs one name stands, if not for one. Returns how many came in.
local function let_in(lanes, held, queue, names, each)
  local fields, gone, known, last = {}, {}, nil, nil
  for _, name in ipairs(names) do
    local field = queue .. '\0' .. name
    if not gone[field] then fields[#fields + 1] = field end
    gone[field] = (gone[field] or 0) + (each or 1)
  end
  if not fields[1] then return 0 end
  local plan = { lanes = lanes, held = held, queue = queue, ready = {}, heads = {}, set = {} }
  local kept = call('HMGET', lanes, unpack(fields))
  local more, any_held = MOST_MORE, call('EXISTS', held) == 1
  for i, field in ipairs(fields) do
    -- Nearly always the values of lanes in a call are alike.
    local value = kept[i] or nil
    if not known or value ~= last then known, last = lane_of(value), value end
    local lane = known
    if not lane.tie then
      -- Its first held job says what may be in.
      local first = { held = held, heads = {}, ready = {} }
      local any = any_held and plan_heads(first, field, 1) == 1
      lane = lane_of(nil, any and select(2, lane_in(first.ready[1])) or 'l1')
    end
    local count = math.min(gone[field], lane.inside)
    local inside = lane.inside - count
    local room = any_held and math.min(lane.most - inside, count + more) or 0
    if room > 0 then
      local came = plan_heads(plan, field, room)
      inside, more = inside + came, more - math.max(came - count, 0)
    end
    -- Nearly always one has come in for one that has left.
    if inside ~= lane.inside or inside == 0 then plan_value(plan, field, value_of(lane, inside), value) end
  end
  if #plan.set > 3 then call('HDEL', lanes, nobody()) end
  if #plan.heads > 0 or #plan.set > 0 then write_plan(plan, call) end
  return #plan.ready
end
