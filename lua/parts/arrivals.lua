-- arrivals.lua: jobs that come to a queue with lanes: those that find room are ready, the others are held.
--
--   after lanes.lua

-- Longer than what Redis keeps in a list: it searches a hash of up to 512 short values from end to end.
local LONG_VALUE = string.rep('-', 65)

-- Plans what comes in. `texts`: jobs that want to be ready, in order, also without a lane; `were_delayed`: some of them
-- may have kept their places. Checks everything that may be refused, except the writes.
local function plan_arrivals(lanes, held, queue, texts, were_delayed)
  local names, fields, by_name, arriving = {}, {}, {}, {}
  for i, text in ipairs(texts) do
    local name, tie, is_in = lane_in(text)
    if is_in and were_delayed then name = nil end
    arriving[i] = name or false
    if name then
      if not by_name[name] then names[#names + 1], fields[#fields + 1] = name, queue .. '\0' .. name end
      by_name[name] = tie
    end
  end
  fields[#fields + 1] = '#' .. queue
  local kept = call('HMGET', lanes, unpack(fields))
  local plan = { lanes = lanes, held = held, queue = queue, ready = {}, heads = {}, set = {} }
  local more, any_held = MOST_MORE, call('EXISTS', held) == 1
  for i, name in ipairs(names) do
    local lane = lane_of(kept[i], by_name[name])
    by_name[name] = lane
    local free = any_held and lane.most - lane.inside or 0
    local room = math.min(free, more)
    -- Nobody overtakes those that are held.
    lane.is_full = free > 0 and room <= 0
    if room > 0 then
      local came = plan_heads(plan, fields[i], room)
      lane.inside, more, lane.is_full = lane.inside + came, more - came, came == room
    end
  end
  local order, later = tonumber(kept[#fields] or ''), {}
  local last = order or 0
  for i, text in ipairs(texts) do
    local name = arriving[i]
    local lane = name and by_name[name]
    if not lane or (not lane.is_full and lane.inside < lane.most) then
      plan.ready[#plan.ready + 1] = text
      if lane then lane.inside = lane.inside + 1 end
    else
      last = last + 1
      later[#later + 1], later[#later + 2] = '0', format('%s\0%s\0%012x\0', queue, name, last) .. text
    end
  end
  for i, name in ipairs(names) do
    local lane = by_name[name]
    plan_value(plan, fields[i], value_of(lane, lane.inside), kept[i] or nil)
  end
  plan.is_new = not order
  if last ~= order then plan_value(plan, fields[#fields], format('%.0f', last), kept[#fields] or nil) end
  plan.later = #later > 0 and later or nil

  if #texts > 0 then call('LLEN', queue) end
  if #plan.heads > 0 then ask_to_remove(held) end
  if plan.later then call('ZADD', held, 'XX', 0, nobody()) end
  if #plan.set > 0 then call('HDEL', lanes, nobody()) end
  return plan
end

local function write_arrivals(plan, write)
  if plan.is_new then write('HSET', plan.lanes, '#' .. plan.queue, LONG_VALUE) end
  write_plan(plan, write)
end

-- Jobs that want to be ready: those that find room are, the others are held. Returns how many have become ready.
local function enter(lanes, held, queue, texts, were_delayed)
  local plan = plan_arrivals(lanes, held, queue, texts, were_delayed)
  write_arrivals(plan, call)
  return #plan.ready
end
