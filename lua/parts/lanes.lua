-- lanes.lua: lets so many jobs of a lane into a queue, ready or reserved, at a time. The others are held, in order.
--
--   A job says its lane last in its ties (see `src/payload/ties.ts`): `l`, or `L` if the lane is ordered; how many may
--   be in; '/'; and the name of the lane. The name of a queue, here, is the key of its ready list.
--   lanes (hash): queue \0 lane -> how many are in, and how many may be, as in the last job that came; and if that was
--   set otherwise: 'p' if the lane is paused, and its limit, if it has one. '#' queue -> the last order: this queue has
--   had lanes. held (zset, all scores 0): queue \0 lane \0 order (12 digits, hexadecimal) \0 payload.

-- How far from its end a text may have its ties, and nearly always has them: to search further takes time. And the end
-- of a text with a lane, from its ties on.
local LANE_WINDOW, LANE_NEAR = 640, 160
local LANED = '^,"ties":"[^"]-([lL]%d+)/([%w_.:@-]+)",[%w":,]-"id":"[^"\\]+",([%a":,%d]-)"attempts":(%d+)}$'
-- How many jobs a call lets in beyond the place of each one that has left.
local MOST_MORE = 100
-- Longer than what Redis keeps in a list: it searches a hash of up to 512 short values from end to end.
local LONG_VALUE = string.rep('-', 65)
local NONE, FEW = {}, 2

-- The lane of a job, its tie ('l3'), and whether it was handed out before and its lane is ordered: then it keeps its
-- place while it is delayed. Nil: it has none.
local function lane_in(text)
  local place = find(text, ',"ties":"', -LANE_NEAR, true) or find(text, ',"ties":"', -LANE_WINDOW, true)
  while place do
    local _, _, tie, lane, counters, attempts = find(text, LANED, place)
    if lane then return lane, tie, byte(tie) == 76 and (attempts ~= '0' or counters ~= '') end
    place = find(text, ',"ties":"', place + 1, true)
  end
end

-- A lane by its value.
local function lane_of(kept)
  local _, _, inside, tie, paused, limit = find(kept or '', '^(%d+) ([lL]%d+) ?(p?)(%d*)$')
  return {
    kept = kept or nil, before = inside and tonumber(inside), inside = tonumber(inside or 0), left = 0, tie = tie,
    kept_tie = tie, paused = paused == 'p', limit = tonumber(limit or ''),
  }
end

-- How many may be in.
local function running_in(lane)
  if lane.paused then return 0 end
  local own = tonumber(sub(lane.tie, 2))
  -- Order allows no more than one.
  return lane.limit and (byte(lane.tie) == 76 and math.min(lane.limit, 1) or lane.limit) or own
end

local function value_of(lane)
  local set = (lane.paused and 'p' or '') .. (lane.limit or '')
  if lane.inside == 0 and set == '' then return nil end
  return format('%.0f %s', lane.inside, lane.tie) .. (set == '' and '' or ' ' .. set)
end

-- The first held jobs of a lane, as members. `field`: its queue and its name.
local function heads_of(held, field, count)
  return call('ZRANGE', held, '[' .. field .. '\0', '(' .. field .. '\1', 'BYLEX', 'LIMIT', 0, count)
end

-- Behind the lane in a member come its order, between two separators, and the text.
local BEFORE_TEXT = 15

-- Those of a queue, from the place `start` on, as texts. `members`: gets the members by their texts.
local function held_of(held, queue, members)
  return function(start, size)
    local texts = {}
    local first, last = '[' .. queue .. '\0', '(' .. queue .. '\1'
    for i, member in ipairs(call('ZRANGE', held, first, last, 'BYLEX', 'LIMIT', start, size)) do
      texts[i] = sub(member, find(member, '%z', #queue + 2) + 14)
      members[texts[i]] = member
    end
    return texts
  end
end

local function count_held(held, queue)
  if call('EXISTS', held) == 0 then return 0 end
  return call('ZLEXCOUNT', held, '[' .. queue .. '\0', '(' .. queue .. '\1')
end

-- Plans what comes in. `left`: names of lanes, in order, each followed by how many of its jobs have left; `texts`: jobs
-- that want to be ready, in order, also without a lane; `were_delayed`: some of them may have kept their places. Checks
-- everything that may be refused, except the writes.
local function plan_lanes(lanes, held, queue, left, texts, were_delayed)
  local names, fields, by_name, arriving = {}, {}, {}, {}
  local function note(name)
    if by_name[name] then return end
    by_name[name] = true
    names[#names + 1], fields[#fields + 1] = name, queue .. '\0' .. name
  end
  for at = 1, #left, 2 do note(left[at]) end
  for i, text in ipairs(texts) do
    local name, tie, is_in = lane_in(text)
    arriving[i] = { text = text, name = not (is_in and were_delayed) and name or nil, tie = tie }
    if arriving[i].name then note(name) end
  end
  if texts ~= NONE then fields[#fields + 1] = '#' .. queue end
  local kept = call('HMGET', lanes, unpack(fields))
  for i, name in ipairs(names) do by_name[name] = lane_of(kept[i]) end
  for at = 1, #left, 2 do by_name[left[at]].left = left[at + 1] end
  for _, one in ipairs(arriving) do
    if one.name then by_name[one.name].tie = one.tie end
  end

  local plan = { lanes = lanes, held = held, queue = queue, ready = {}, heads = {}, later = {}, set = {} }
  -- Of few lanes, to look for held jobs takes no longer than to ask whether there are any.
  local more, any_held = MOST_MORE, #names <= FEW or call('EXISTS', held) == 1
  for i, name in ipairs(names) do
    local lane = by_name[name]
    local count, room = math.min(lane.left, lane.inside), nil
    lane.inside = lane.inside - count
    if not lane.tie then
      -- Nothing was known of it.
      local head = any_held and heads_of(held, fields[i], 1)[1]
      lane.tie = head and select(2, lane_in(sub(head, #fields[i] + BEFORE_TEXT))) or 'l1'
    end
    local free = any_held and running_in(lane) - lane.inside or 0
    room = math.min(free, count + more)
    -- Nobody overtakes those that are held.
    lane.is_full = free > 0 and room <= 0
    if room > 0 then
      local members, text_start = heads_of(held, fields[i], room), #fields[i] + BEFORE_TEXT
      for _, member in ipairs(members) do
        local last = #plan.heads + 1
        plan.heads[last], plan.ready[last] = member, sub(member, text_start)
      end
      lane.inside, more = lane.inside + #members, more - math.max(#members - count, 0)
      lane.is_full = #members == room
    end
  end
  local order = texts ~= NONE and tonumber(kept[#fields]) or nil
  plan.is_new = not order and texts ~= NONE
  local last = order or 0
  for _, one in ipairs(arriving) do
    local lane = one.name and by_name[one.name]
    if not lane or (not lane.is_full and lane.inside < running_in(lane)) then
      plan.ready[#plan.ready + 1] = one.text
      if lane then lane.inside = lane.inside + 1 end
    else
      last = last + 1
      local member = format('%s\0%s\0%012x\0', queue, one.name, last) .. one.text
      plan.later[#plan.later + 1], plan.later[#plan.later + 2] = '0', member
    end
  end
  for i, name in ipairs(names) do
    local lane = by_name[name]
    -- Nearly always one has come in for one that has left.
    if lane.inside ~= lane.before or lane.inside == 0 or lane.tie ~= lane.kept_tie then
      local value = value_of(lane)
      if value ~= lane.kept then plan.set[#plan.set + 1] = { fields[i], value, lane.kept } end
    end
  end
  if texts ~= NONE and last ~= order then
    plan.set[#plan.set + 1] = { fields[#fields], format('%.0f', last), kept[#fields] or nil }
  end

  -- Jobs that are let in stay where they are if they may not be written; others would be held twice by a repeat.
  if #texts > 0 then call('LLEN', queue) end
  if #plan.heads > 0 then ask_to_remove(held) end
  if #plan.later > 0 then call('ZADD', held, 'XX', 0, nobody()) end
  if #plan.set > 0 then call('HDEL', lanes, nobody()) end
  return plan
end

local function set_fields(write, lanes, fields, place)
  local set, gone = {}, {}
  for _, field in ipairs(fields) do
    if field[place] then set[#set + 1], set[#set + 2] = field[1], field[place] else gone[#gone + 1] = field[1] end
  end
  if #set > 0 then write('HSET', lanes, unpack(set)) end
  if #gone > 0 then write('HDEL', lanes, unpack(gone)) end
end

-- Writes what was planned, the counts first: if a job may not be written, they are restored. `write` writes the jobs.
local function write_lanes(plan, write)
  if plan.is_new then write('HSET', plan.lanes, '#' .. plan.queue, LONG_VALUE) end
  if #plan.set > 0 then set_fields(write, plan.lanes, plan.set, 2) end
  local done, problem = pcall(function()
    if #plan.later > 0 then write('ZADD', plan.held, unpack(plan.later)) end
    if #plan.ready > 0 then write('RPUSH', plan.queue, unpack(plan.ready)) end
  end)
  if not done then
    set_fields(redis.pcall, plan.lanes, plan.set, 3)
    error(problem)
  end
  if #plan.heads > 0 then call('ZREM', plan.held, unpack(plan.heads)) end
end

-- Jobs that want to be ready: those that find room are, the others are held. Returns how many have become ready.
local function enter(lanes, held, queue, texts, were_delayed)
  local plan = plan_lanes(lanes, held, queue, NONE, texts, were_delayed)
  write_lanes(plan, call)
  return #plan.ready
end

-- Notes that a job has left its lane, if it has one. `left`: as for `plan_lanes`; it is returned, and may be nil.
local function note_left(left, text)
  local name = lane_in(text)
  if not name then return left end
  left = left or { places = {} }
  local place = left.places[name]
  if place then
    left[place] = left[place] + 1
  else
    left[#left + 1], left[#left + 2] = name, 1
    left.places[name] = #left
  end
  return left
end

-- Lets in others for those that have left. Returns how many came in.
local function let_in(lanes, held, queue, left)
  if not left then return 0 end
  local plan = plan_lanes(lanes, held, queue, left, NONE)
  write_lanes(plan, call)
  return #plan.ready
end
