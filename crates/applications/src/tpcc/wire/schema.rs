//! The tables, as statements (clause 1.3).

/// Statements that make the tables.
pub(super) const TABLES: &str = "\
create table warehouse (w_id int primary key, w_name varchar(10) not null,
    w_street_1 varchar(20) not null, w_street_2 varchar(20) not null, w_city varchar(20) not null,
    w_state char(2) not null, w_zip char(9) not null, w_tax numeric(4, 4) not null,
    w_ytd numeric(12, 2) not null);
create table district (d_w_id int, d_id int, d_name varchar(10) not null,
    d_street_1 varchar(20) not null, d_street_2 varchar(20) not null, d_city varchar(20) not null,
    d_state char(2) not null, d_zip char(9) not null, d_tax numeric(4, 4) not null,
    d_ytd numeric(12, 2) not null, d_next_o_id int not null, primary key (d_w_id, d_id));
create table customer (c_w_id int, c_d_id int, c_id int, c_first varchar(16) not null,
    c_middle char(2) not null, c_last varchar(16) not null, c_street_1 varchar(20) not null,
    c_street_2 varchar(20) not null, c_city varchar(20) not null, c_state char(2) not null,
    c_zip char(9) not null, c_phone char(16) not null, c_since timestamp not null,
    c_credit char(2) not null, c_credit_lim numeric(12, 2) not null,
    c_discount numeric(4, 4) not null, c_balance numeric(12, 2) not null,
    c_ytd_payment numeric(12, 2) not null, c_payment_cnt int not null,
    c_delivery_cnt int not null, c_data varchar(500) not null,
    primary key (c_w_id, c_d_id, c_id));
create table history (h_c_id int not null, h_c_d_id int not null, h_c_w_id int not null,
    h_d_id int not null, h_w_id int not null, h_date timestamp not null,
    h_amount numeric(6, 2) not null, h_data varchar(24) not null);
create table orders (o_w_id int, o_d_id int, o_id int, o_c_id int not null,
    o_entry_d timestamp not null, o_carrier_id int, o_ol_cnt int not null,
    o_all_local int not null, primary key (o_w_id, o_d_id, o_id));
create table new_order (no_w_id int, no_d_id int, no_o_id int,
    primary key (no_w_id, no_d_id, no_o_id));
create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int,
    ol_i_id int not null, ol_supply_w_id int not null, ol_delivery_d timestamp,
    ol_quantity int not null, ol_amount numeric(6, 2) not null, ol_dist_info char(24) not null,
    primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));
create table item (i_id int primary key, i_im_id int not null, i_name varchar(24) not null,
    i_price numeric(5, 2) not null, i_data varchar(50) not null);
create table stock (s_w_id int, s_i_id int, s_quantity int not null,
    s_dist_01 char(24) not null, s_dist_02 char(24) not null, s_dist_03 char(24) not null,
    s_dist_04 char(24) not null, s_dist_05 char(24) not null, s_dist_06 char(24) not null,
    s_dist_07 char(24) not null, s_dist_08 char(24) not null, s_dist_09 char(24) not null,
    s_dist_10 char(24) not null, s_ytd int not null, s_order_cnt int not null,
    s_remote_cnt int not null, s_data varchar(50) not null, primary key (s_w_id, s_i_id))";

/// Statements that make the indexes once the rows are there.
pub(super) const INDEXES: &str = "\
create index customer_by_name on customer (c_w_id, c_d_id, c_last, c_first);
create unique index orders_of_customer on orders (o_w_id, o_d_id, o_c_id, o_id)";

/// Statements that drop all tables.
pub(super) const DROPS: &str = "\
drop table warehouse, district, customer, history, orders, new_order, order_line, item, stock";

/// Names of the tables.
pub(super) const NAMES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "orders",
    "new_order",
    "order_line",
    "item",
    "stock",
];
