-- What each category has sold in 2025: a join with aggregates.
select p.category, count(distinct o.id) as orders, sum(l.quantity * l.unit_price) as revenue
from shop.orders o
join shop.order_lines l on l.order_id = o.id
join shop.products p on p.id = l.product_id
where o.placed_at >= '2025-01-01' and o.status <> 'cancelled'
group by p.category
order by revenue desc;

-- The customer of each country who has spent most: a window function.
select country, name, spent
from (select c.country, c.name, sum(t.total) as spent,
             rank() over (partition by c.country order by sum(t.total) desc) as place
      from shop.customers c
      join shop.order_totals t on t.customer_id = c.id
      group by c.id, c.country, c.name) ranked
where place = 1
order by spent desc;

-- What is to be packed next, by a partial index, and how the server finds it.
explain analyze
select o.id, c.name, sum(l.quantity) as items
from shop.orders o
join shop.customers c on c.id = o.customer_id
join shop.order_lines l on l.order_id = o.id
where o.status in ('placed', 'paid') and o.placed_at < '2025-12-20'
group by o.id, c.name;
